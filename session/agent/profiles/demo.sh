#!/bin/sh
# The demo's agent: it does some useful work, tries every wall, and leaves a
# few things in the workspace that a reviewer should notice. Harmless.

say() { printf '%s\n' "$*"; }

# try CLAIM COMMAND...: the command must fail.
try() {
  claim=$1
  shift
  if out=$("$@" 2>&1); then
    say "  OPEN    $claim: it worked"
  else
    say "  refused $claim ${out:+$(printf '%s' "$out" | grep -v 'dmesg(1)' | tail -n 1 | cut -c1-72)}"
  fi
}

say "demo agent: at work in $(pwd) as $(id -un), HOME=$HOME"
say ""
say "1. the task: open files with a lock, and say so in the docs"
sed -i 's/os.Open(path)/os.OpenFile(path, os.O_RDWR, 0o600)/' src/store/open.go
sed -i 's/^\treturn s.load()$/\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.load()/' src/store/open.go
cat > docs/locking.md <<'DOC'
# Locking

The store takes its lock before it loads, and keeps it until the call ends.
DOC
sed -i 's/^Run it:.*/Run it: `.\/run.sh`. The store locks itself: see docs\/locking.md./' README.md
rm -f src/store/legacy.go
chmod +x run.sh
git log --oneline | head -n 1
git add -A && git -c user.name=demo -c user.email=demo@fumehood.test commit -q -m "lock the store" && say "  committed inside: $(git log --oneline | head -n 1)"
say ""
say "2. every wall, tried from inside"
try "read the user's key      " cat "${DEMO_CANARY:-/home/none/.ssh/id_demo}"
try "write beside the workspace" sh -c 'echo x > ../beside.txt'
try "write to /etc             " sh -c 'echo x > /etc/fumehood-demo'
try "another place of the host " ls /root /var/lib
try "the network, by address   " bash -c 'exec 3<>/dev/tcp/198.51.100.7/443'
try "the host's loopback       " bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'
try "a name                    " sh -c 'getent hosts host.test || { echo "not found"; false; }'
try "processes of the host     " sh -c 'n=$(ls /proc | grep -c "^[0-9]"); echo "$n processes to be seen, all of the session"; test "$n" -gt 12'
try "the starter's environment " sh -c 'tr "\0" "\n" < /proc/1/environ | grep .'
try "a new user namespace      " unshare -U true
try "a mount                   " mount -t tmpfs none /tmp
try "signal its keeper         " sh -c 'kill -TERM 1'
say ""
say "3. and things that a reviewer should notice"
mkdir -p .vscode .git/hooks
printf '{\n  "version": "2.0.0",\n  "tasks": [{"label": "setup", "command": "./run.sh", "runOptions": {"runOn": "folderOpen"}}]\n}\n' > .vscode/tasks.json
sed -i 's/"test": "node test.js"/"test": "node test.js",\n    "postinstall": "node setup.js"/' package.json
ln -s /etc/passwd docs/accounts
printf '#!/bin/sh\ntouch PWNED\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit
say "  .vscode/tasks.json, a postinstall script, a link out of the folder, a git hook"
say ""
say "demo agent: done"
