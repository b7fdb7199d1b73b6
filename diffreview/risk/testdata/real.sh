#!/bin/sh
# Fetches consecutive versions of real projects into DIR, for
# TestOrdinaryChangesAreQuiet (FUMEHOOD_RISK_REAL=DIR): DIR/PROJECT/NUMBER-VERSION/
# holds the files of one version. Nothing of it is built, run or committed.
#
#	sh diffreview/risk/testdata/real.sh DIR [VERSIONS]
#
# Where from is what the two clients are set up for (GOPROXY, npm's registry):
# this script names no host. VERSIONS of each project are kept, the newest ones
# without a pre-release.
set -u
dir=${1:?a folder to fetch into}
keep=${2:-8}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

modules='
github.com/spf13/cobra github.com/gin-gonic/gin github.com/stretchr/testify github.com/go-chi/chi/v5
github.com/sirupsen/logrus go.uber.org/zap github.com/rs/zerolog github.com/urfave/cli/v2
github.com/gorilla/websocket github.com/prometheus/client_golang github.com/fsnotify/fsnotify
github.com/charmbracelet/bubbletea github.com/charmbracelet/lipgloss github.com/pelletier/go-toml/v2
github.com/BurntSushi/toml github.com/klauspost/compress github.com/valyala/fasthttp
github.com/gofiber/fiber/v2 github.com/labstack/echo/v4 github.com/jackc/pgx/v5 github.com/go-git/go-git/v5
github.com/alecthomas/chroma/v2 golang.org/x/net golang.org/x/crypto golang.org/x/tools golang.org/x/text
golang.org/x/sys google.golang.org/grpc google.golang.org/protobuf github.com/hashicorp/hcl/v2
github.com/hashicorp/consul/api github.com/nats-io/nats.go github.com/redis/go-redis/v9
github.com/etcd-io/bbolt go.etcd.io/bbolt github.com/caddyserver/caddy/v2 github.com/junegunn/fzf
github.com/evanw/esbuild github.com/cli/cli/v2 github.com/moby/buildkit
'
packages='
express fastify koa zod rxjs axios commander chalk yargs mocha chai lodash-es three d3-array
preact hono undici ws pino winston eslint prettier node-gyp marked highlight.js markdown-it
socket.io knex sequelize mongoose typeorm @nestjs/core @angular/compiler vite rollup
react-native webpack date-fns luxon dayjs jquery codemirror ajv sass-graph less pug
@typescript-eslint/parser semver npm tar minimatch glob
'

numbered() { # of versions on standard input, one a line, the newest of them
	grep -E '^v?[0-9]+\.[0-9]+\.[0-9]+$' | sort -V | tail -n "$keep" | cat -n | sed 's/^ *//' | tr '\t' ' '
}

for m in $modules; do
	to=$dir/go-$(echo "$m" | tr / _)
	[ -d "$to" ] && continue
	(cd "$dir" && GOFLAGS=-mod=mod go list -m -versions "$m" 2>/dev/null) | tr ' ' '\n' | numbered | while read -r n v; do
		from=$(cd "$dir" && go mod download -json "$m@$v" 2>/dev/null | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
		[ -n "$from" ] || continue
		mkdir -p "$to" && cp -r "$from" "$to/$(printf %02d "$n")-$v" && chmod -R u+w "$to"
	done
	[ -d "$to" ] || echo "$m: nothing fetched" >&2
done

for p in $packages; do
	to=$dir/npm-$(echo "$p" | tr / _)
	[ -d "$to" ] && continue
	npm view "$p" versions --json 2>/dev/null | tr -d '[]", ' | numbered | while read -r n v; do
		at=$to/$(printf %02d "$n")-$v
		mkdir -p "$at" || exit 1
		tgz=$(cd "$to" && npm pack --silent --ignore-scripts "$p@$v" 2>/dev/null | tail -n 1)
		[ -n "$tgz" ] && tar -xzf "$to/$tgz" --strip-components=1 --no-same-owner -C "$at" || rmdir "$at"
		rm -f "$to/$tgz"
	done
	[ -d "$to" ] || echo "$p: nothing fetched" >&2
done
