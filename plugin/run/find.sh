# Sourced by the scripts beside it, with `root` set to the plugin's folder. Sets:
#   name    this release of the plugin, the name of its environment
#   kept    the folder of all environments
#   found   the folder of the programs to run; empty before the set-up
# Order: the environment of this release, the newest that was set up, a knowbound on the PATH.
name=source
[ -r "$root/release" ] && read -r name <"$root/release"
kept=${XDG_DATA_HOME:-$HOME/.local/share}/knowbound
current=
[ -r "$kept/current" ] && read -r current <"$kept/current"
found=
for folder in "$kept/$name/bin" "$kept/$name/Scripts" "$kept/$current/bin" "$kept/$current/Scripts"; do
    if [ -e "$folder/knowbound-hook" ] || [ -e "$folder/knowbound-hook.exe" ]; then
        found=$folder
        break
    fi
done
if [ -z "$found" ] && command -v knowbound-hook >/dev/null 2>&1; then
    found=$(command -v knowbound-hook)
    found=${found%/*}
fi

# Reports whether settings of the client itself have our hook of an event: then the plugin is silent.
is_installed_classically() { # CLIENT EVENT
    case $1 in
        claude-code)
            grep -qs "knowbound-hook.* $2" "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" \
                "${CLAUDE_PROJECT_DIR:-.}/.claude/settings.local.json" && return 0
            shared=${CLAUDE_PROJECT_DIR:-.}/.claude/settings.json
            ;;
        *)
            grep -qs "knowbound-hook.* $2" "${CODEX_HOME:-$HOME/.codex}/hooks.json" && return 0
            shared=$PWD
            while [ ! -e "$shared/.codex/hooks.json" ] && [ -n "$shared" ]; do shared=${shared%/*}; done
            shared=$shared/.codex/hooks.json
            ;;
    esac
    # Shared settings of a project do nothing where no knowbound-hook is on the PATH.
    command -v knowbound-hook >/dev/null 2>&1 && grep -qs "knowbound-hook.* $2" "$shared"
}
