package risk

import (
	"strings"
	"testing"
)

// TestOrdinaryNamesAreQuiet: source, prose and pictures whose names resemble
// those of files that tools obey.
func TestOrdinaryNamesAreQuiet(t *testing.T) {
	for p := range strings.FieldsSeq(`
		main.go internal/ca/ca.go pkg/pki/sign.go internal/certs/pool.go keyring.go internal/keyring/keyring_linux.go pkg/kube/client.go
		internal/docker/docker.go dockerfile.go parse/makefile.go makefile_test.go internal/autostart/autostart.go cmd/bootstrap/main.go
		src/app/app.config.ts src/app/config.ts src/karma.go app/models/schedule.rb app/models/inventory.rb app/inventory.py src/traefik.go
		docs/conventions.md docs/memory.md docs/makefile.md docs/ci.md README.md CHANGELOG.md CONTRIBUTING.md app/tasks.py app/conf.py
		src/build.py app/backend.py src/setup/index.ts lib/hooks/useAuth.tsx internal/hooks/hooks.go hooks/hooks.go pkg/hooks/update.go
		internal/systemd/notify.go pkg/snap/snap.go src/roles/admin.ts app/roles/models.py internal/clusters/list.go ci/main.go
		src/cosign.go internal/gitconfig/read.go git/config.go src/env.ts env.go environment.go src/environments/environment.ts
		src/store/index.js src/config.js lib/config.rb src/webpack.js src/server.js src/utils/arc.js lib/orc.js tests/app.test.js spec/app_spec.rb
		src/main.rs src/lib.rs src/build/mod.rs src/builder.rs app/settings.py app/urls.py app/views.py pkg/lock/lock.go lock.py
		docs/logo.svg data/rows.csv assets/style.css public/index.html templates/index.html src/A.java src/main/java/Gradle.java A.cs Program.cs
		internal/license/license.go src/credentials.go src/secrets/reader.go api/v1/service.proto schema.graphql queries.sql migrations/0001_init.sql
		config/locales/en.yml i18n/de.json src/locales/fr.json testdata/input.txt fixtures/users.json src/agents.go src/mcp.go docs/agents/overview.md
		src/vendor.go src/vendor/index.ts.md internal/policy/policy.go src/copilot.ts pkg/workspace/workspace.go build/info.go src/test.ts
		internal/target/target.go cmd/app/main.go src/service.ts src/timer.rs src/socket.py
	`) {
		cs := look(t, tree{}, tree{p: {data: "x\n"}})
		for _, f := range cs.Files[0].Findings {
			if f.Severity.Rank() > note.Rank() {
				t.Errorf("%s: got %v, want nothing above a note", p, f)
			}
		}
	}
}

// TestHotNamesAreFound: files that something runs or obeys by name, new, in the
// place where it looks.
func TestHotNamesAreFound(t *testing.T) {
	for p := range strings.FieldsSeq(`
		.claude/settings.json .claude/hooks/x.sh CLAUDE.md sub/CLAUDE.md .cursorrules .cursor/mcp.json .github/copilot-instructions.md .codex/config.toml
		opencode.json .opencode/plugin/x.ts .gemini/settings.json QWEN.md .crush.json .pi/extensions/x.ts .amp/settings.json .roo/rules/a.md .windsurfrules
		.gitlab-ci.yml .travis.yml .circleci/config.yml azure-pipelines.yml Jenkinsfile .drone.yml .buildkite/pipeline.yml appveyor.yml bitbucket-pipelines.yml
		.woodpecker/a.yml .gitea/workflows/a.yml action.yml .github/dependabot.yml .mergify.yml cloudbuild.yaml buildspec.yml .cirrus.yml ci/run.sh .tekton/a.yaml
		Dockerfile docker/app.Dockerfile Dockerfile.dev compose.yaml docker-compose.yml Containerfile Tiltfile skaffold.yaml Vagrantfile
		Makefile sub/makefile GNUmakefile rules.mk justfile Taskfile.yml CMakeLists.txt cmake/x.cmake configure.ac meson.build SConstruct wscript BUILD BUILD.bazel WORKSPACE
		MODULE.bazel defs.bzl .bazelrc build.zig build.rs sub/build.rs .cargo/config.toml rust-toolchain setup.py conftest.py sub/conftest.py tox.ini noxfile.py
		sitecustomize.py x.pth pytest.ini build.gradle build.gradle.kts settings.gradle gradlew gradle.properties .mvn/extensions.xml mvnw build.sbt project/plugins.sbt
		Directory.Build.props NuGet.Config global.json Rakefile app.gemspec Gemfile .rspec .irbrc Podfile Package.swift mix.exs rebar.config stack.yaml dune Setup.hs
		webpack.config.js vite.config.ts .eslintrc.js .babelrc gulpfile.js karma.conf.js .mocharc.js .pnpmfile.cjs .yarnrc.yml .npmrc bunfig.toml lerna.json nx.json turbo.json
		.husky/pre-commit .githooks/pre-push lefthook.yml .pre-commit-config.yaml .lintstagedrc home/.gitconfig
		.envrc .bashrc .zshrc .profile .env .tool-versions mise.toml flake.nix shell.nix .vscode/tasks.json .vscode/launch.json .vscode/settings.json .idea/workspace.xml
		.exrc .nvim.lua .dir-locals.el a.code-workspace .devcontainer.json .devcontainer/Dockerfile main.tf a.tfvars ansible.cfg Pulumi.yaml serverless.yml k8s/a.yaml Chart.yaml
		values.yaml kustomization.yaml pip.conf .pypirc .condarc settings.xml .netrc known_hosts ca.crt a.pem id_rsa a.p12 a.kdbx .htpasswd CODEOWNERS .github/CODEOWNERS
		app.service a.desktop etc/cron.d/x crontab Library/LaunchAgents/a.plist deploy/x.timer .Rprofile .gdbinit .user.ini .htaccess phpunit.xml .fumehood/policy.toml
		a.exe lib.so a.dll x.pyc A.class a.jar a.whl a.zip a.tar.gz a.deb a.rpm vendor/x/y.go node_modules/a/index.js dist/app.min.js .golangci.yml codecov.yml .semgrepignore sonar-project.properties
	`) {
		cs := look(t, tree{}, tree{p: {data: "{\"a\": \"./b\"}\n"}})
		if cs.Files[0].Severity().Rank() < warn.Rank() {
			t.Errorf("%s: got %v, want a warning", p, cs.Files[0].Findings)
		}
	}
}

func TestSameAsGit(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git ": true, ".git.": true, "git~1": true, "GIT~2": true, ".git::$INDEX_ALLOCATION": true, ".g\u200cit": true,
		".gi\u200dt": true, "\ufeff.git": true, ".git\\config": true, "x\\.git": true,
		".github": false, ".gitignore": false, "git": false, "git~10": false, "git~": false, ".gitx": false, "a.git": false,
	} {
		if got := sameAsGit(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestFollowLeavesNowhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		links  map[string]string
		at     string
		leaves bool
	}{
		{"inside", map[string]string{"a/l": "../b/c"}, "a/l", false},
		{"above", map[string]string{"a/l": "../../c"}, "a/l", true},
		{"absolute", map[string]string{"l": "/tmp"}, "l", true},
		{"through another", map[string]string{"d": "a/b/c", "l": "d/../../../.."}, "l", true},
		{"through another, inside", map[string]string{"d": "a/b/c", "l": "d/../x"}, "l", false},
		{"a name alone would say inside", map[string]string{"a/b": "..", "l": "a/b/../.."}, "l", true},
		{"itself", map[string]string{"l": "l"}, "l", true},
		{"round", map[string]string{"a": "b", "b": "a"}, "a", true},
		{"git", map[string]string{"l": "sub/.git/hooks"}, "l", true},
		{"git in capitals", map[string]string{"l": ".GIT"}, "l", true},
		{"Windows", map[string]string{"l": `..\x`}, "l", true},
	} {
		r := &changes{links: c.links}
		if where, why := r.follow(c.at); (why != "") != c.leaves {
			t.Errorf("%s: got %q %q, want leaves %v", c.name, where, why, c.leaves)
		}
	}
}

func TestIgnorePatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, dir, file string
		want               bool
	}{
		{"*.py", ".", "a/b.py", true},
		{"/b.py", ".", "a/b.py", false},
		{"a/*.py", ".", "a/b.py", true},
		{"a", ".", "x/a/b/c", true},
		{"a/", ".", "a/b", true},
		{"**/b", ".", "x/y/b", true},
		{"a/**", ".", "a/b/c", true},
		{"a/**/c", ".", "a/c", true},
		{"*.py", "sub", "a.py", false},
		{"*.py", "sub", "sub/a.py", true},
		{"# a", ".", "# a", false},
	} {
		p, ok := parseIgnore(c.pattern)
		if got := ok && p.match(c.dir, c.file); got != c.want {
			t.Errorf("%s in %s on %s: got %v, want %v", c.pattern, c.dir, c.file, got, c.want)
		}
	}
}

func TestMixedWords(t *testing.T) {
	for text, want := range map[string]bool{
		"t\u03bfken": true, "https://\u0430pi.x": true, "p\u0430ypal": true, "\u0441\u043e\u0440(1)": true, "x.\u0440\u0430\u0443": true,
		"\uff41pi": true, "admin": false, "\u0418\u043c\u044f": false, "\u0394x = 1": false, "\u03c1gh": false, "\u03b1x + \u03b2y": false,
		"\u00b5s": false, "gr\u00f6\u00dfe": false, "\u6f22\u5b57kanji": false, "say\u0131": false, "\u03bd": false,
		"\u043e\u043d \u0441\u043a\u0430\u0437\u0430\u043b (\u0441\u043c. \u0432\u044b\u0448\u0435)": false,
	} {
		if w, got := mixedWord(text, false); got != want {
			t.Errorf("%q: got %v (%q), want %v", text, got, w, want)
		}
	}
}
