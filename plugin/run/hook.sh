#!/bin/sh
# Answers one event of a client: hook.sh CLIENT EVENT. Silent until the set-up, and where the client's own settings have
# our hooks. Ends with 0 whatever happens: a hook never fails the agent.
root=${0%/run/hook.sh}
. "$root/run/find.sh"
if is_installed_classically "$1" "$2"; then
    exec cat >/dev/null
fi
waits=
case $found in
    "$kept/$name"/*) ;;
    "" | "$kept"/*) waits=$2 ;; # not set up, or an earlier release; a knowbound of the user's own is enough
esac
if [ "$waits" = session-start ]; then
    # One line for the user, once for each release: `mkdir` lets one of several sessions say it.
    said=${XDG_STATE_HOME:-$HOME/.local/state}/knowbound
    call='/knowbound setup'
    [ "$1" = codex ] && call='$knowbound setup'
    if [ -z "$found" ]; then
        line="knowbound is not set up: $call installs it once, with the network. Until then it does nothing."
    else
        line="knowbound $name is here: $call installs it, with the network. Until then $current answers."
    fi
    if [ "$name" != source ] && (umask 077 && mkdir -p "$said" && mkdir "$said/said-$name") 2>/dev/null; then
        cat >/dev/null
        printf '{"systemMessage": "%s"}\n' "$line"
        exit 0
    fi
fi
[ -n "$found" ] || exec cat >/dev/null
KNOWBOUND_PLUGIN=$1 exec "$found/knowbound-hook" "$2"
