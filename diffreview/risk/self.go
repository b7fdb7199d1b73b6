package risk

import "fumehood/diffreview"

const (
	note   = diffreview.Note
	warn   = diffreview.Warn
	danger = diffreview.Danger
)

// selfRules are for files that run by themselves: on a git command, on entering
// the folder, on opening it in an editor, on logging in.
var selfRules = []Rule{
	// git and its hooks
	{
		Name: "git-hook", Severity: danger,
		Why: "git, or the script that installs hooks, runs this file on commit, checkout, merge or push",
		Paths: []string{
			".githooks/**", ".git-hooks/**", "git-hooks/**", "githooks/**", ".husky/**", ".cargo-husky/**", ".hooks/**",
			"hooks/pre-commit", "hooks/pre-push", "hooks/pre-rebase", "hooks/pre-merge-commit", "hooks/pre-receive", "hooks/pre-applypatch", "hooks/pre-auto-gc",
			"hooks/post-*", "hooks/commit-msg", "hooks/prepare-commit-msg", "hooks/applypatch-msg", "hooks/update", "hooks/reference-transaction",
			"hooks/fsmonitor-watchman", "hooks/pre-commit*", "hooks/pre-push*", "hooks/commit-msg*", "hooks/prepare-commit-msg*", "/pre-commit*", "/pre-push*", "/commit-msg*", ".git-templates/**", "git-templates/**", ".git-template/**", "git-template/**", "hooks/sendemail-validate", "hooks/push-to-checkout", "hooks/proc-receive", "hooks/p4-*",
			"hooks/*.d/**", "git_hooks/**", ".git_hooks/**", "scripts/pre-commit*", "scripts/pre-push*", "scripts/commit-msg*", "scripts/prepare-commit-msg*", "script/pre-commit*", "tools/pre-commit*", "tools/pre-push*", "tools/commit-msg*", "bin/pre-commit", "bin/pre-push", "bin/commit-msg", "dev/pre-commit*", "dev/pre-push*", "contrib/pre-commit*", "build/pre-commit*", "ci/pre-commit*", "utils/pre-commit*", "misc/pre-commit*", "hack/pre-commit*", "hack/pre-push*",
		},
		Not: []string{"*.md", "hooks/*.js", "hooks/*.ts", "hooks/*.tsx", "hooks/*.jsx", "hooks/*.md", "hooks/*.vue", ".githooks/readme*", ".husky/.gitignore"},
	},
	{Name: "git-hooks-path", Severity: danger, Why: "the host's core.hooksPath points at this folder: git runs what lies in it", Check: inHooksPath},
	{
		Name: "hook-manager", Severity: warn, Comment: "#", Gone: warn, GoneWhy: "what it checked at each commit is no longer checked",
		Why: "a hook manager reads this file and runs what it names at each commit or push",
		Paths: []string{
			".pre-commit-hooks.yaml", "lefthook.y*ml", ".lefthook.y*ml", "lefthook-local.y*ml", ".lefthook-local.y*ml", "lefthook.toml", "lefthook.json", ".lefthook/**",
			".overcommit.yml", ".overcommit/**", ".lintstagedrc*", "lint-staged.config.*", ".huskyrc*", "husky.config.*", ".simple-git-hooks.*", "simple-git-hooks.*",
			"captainhook.json", "grumphp.y*ml", "grumphp.yml.dist", "commitlint.config.*", ".commitlintrc*", ".czrc", ".cz.*", "prek.toml", "hk.pkl", ".rusty-hook.toml", "hooks.gradle", ".githooks.*", "githooks.*", "git-hooks.nix", ".ghooks*", "git-hooks.*", ".git-hooks.*", ".config/lefthook.*", "nano-staged.*", ".nano-staged.*", ".nano-staged*", "lint-staged.*", ".lintstaged.*", ".husky.*", "husky.*", "hk.toml", "autohook*", "gitlint.*",
			"cz.toml", "bumpversion.cfg", "bumpversion.toml", "cliff.toml", "release.toml", "semantic-release.toml", "tbump.toml", "lintstagedrc*", "pre-commit.y*ml",
		},
		Not: []string{"src/*.js", "src/*.ts", "src/*/*.js", "src/*/*.ts", "lib/*.js", "lib/*.ts", "test/*.js", "test/*.ts"}, // code of such a name, not settings
	},
	{
		Name: "hook-command", Severity: danger,
		Why:   "a hook manager runs this command at the next commit, checkout or push, once its hooks are installed",
		Paths: []string{"lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".config/lefthook.*", ".lefthook/**", ".overcommit.yml", "captainhook.json", "hk.pkl", "hk.toml", ".config/hk.pkl", "prek.toml", ".rusty-hook.toml", ".rusty-hook.json", ".huskyrc*", "husky.config.*", "/husky.*", ".simple-git-hooks.*", "simple-git-hooks.*", ".githooks.*", "githooks.*", "git-hooks.*", ".git-hooks.*", "git-hooks.nix", "autohook*", ".ghooks*", ".git-hooks/**", "grumphp.y*ml"},
		Not:   []string{"*.md", "src/*.js", "src/*.ts", "lib/*.js", "lib/*.ts", "test/*.js", "test/*.ts", "tests/*.js"},
		Line:  `(?i)^[\s{\[,-]*["']?(run|entry|command|required_executable|script|action|check|fix|exec|cmd)["']?\s*[:=]\s*\S|["'](pre-(commit|push|rebase|merge-commit)|post-(checkout|merge|commit|rewrite)|commit-msg|prepare-commit-msg)["']?\s*[:=]\s*["'\x60]|\b(pre_?commit|pre_?push|commit_?msg|post_?(checkout|merge|commit))\s*[:=]\s*["']|^\s*["']?(remotes?|extends|git_url|scripts)["']?\s*:|\b(check|fix|run)\s*=\s*"`,
	},
	{Name: "pre-commit", Severity: warn, Why: "pre-commit fetches and runs other hooks at the next commit", Paths: []string{".pre-commit-config.y*ml"}, Gone: warn, GoneWhy: "what it checked at each commit is no longer checked", Comment: "#", Check: preCommit},
	{Name: "git-config", Severity: danger, Why: "git reads settings from this file, and many of them are commands that it runs", Paths: []string{".gitconfig", ".gitconfig.*", ".config/git/**", ".gitconfig.d/**", ".gitconfig-*", "gitconfig", "gitconfig.*", "etc/gitconfig", ".lfsconfig", "jj/config.toml", ".jjconfig"}},
	{
		Name: "git-settings-command", Severity: warn, Code: true,
		Why:  "running this makes git itself run programs: it sets such an option, or writes a hook",
		Line: `(?i)(git\s+config\b.*|-c\s*['"]?|["'\[])(core\.(hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|askpass|attributesfile|worktree)|filter\.[\w-]+\.(clean|smudge|process)|diff\.(external|[\w-]+\.(textconv|command))|merge\.[\w-]+\.driver|credential\.helper|alias\.[\w-]+|include(if)?\..*path|gpg\.(\w+\.)?program|sequence\.editor|uploadpack\.packobjectshook|protocol\.ext\.allow|url\..*insteadof|init\.templatedir|http\.(sslverify|proxy))|\b(cp|ln|mv|install|tee|chmod|rsync)\b[^|;&]*\.git/hooks\b|>>?\s*["']?\S*\.git/hooks/|\b(copy\w*|symlink\w*|write\w*|rename\w*|open\w*|move|chmod)\s*\(.*\.git['"/, ]+hooks\b`,
		Has:  []string{"git", "Git", "GIT"},
	},
	{Name: "git-attributes", Severity: danger, Why: "git runs the filter, diff or merge driver that this names whenever it reads or writes matching files", Paths: []string{".gitattributes"}, Check: gitAttributes},
	{Name: "git-modules", Severity: warn, Why: "the next submodule update fetches other code, from where this file says", Paths: []string{".gitmodules"}, Gone: note, Check: gitModules},
	{Name: "git-ignore-hides", Severity: warn, Why: "the ignore rules of this same change hide it from git status", Check: ignoreHides, Whole: true},
	{Name: "git-authors", Severity: note, Why: "git log and git blame show other names than those that wrote", Paths: []string{".mailmap"}},
	{Name: "git-blame-hides", Severity: warn, Why: "git blame leaves out the commits that this lists", Paths: []string{".git-blame-ignore-revs"}},

	// shells, environment, tools that read a file in the folder or home
	{
		Name: "shell-start", Severity: danger,
		Why: "a shell runs this file whenever it starts",
		Paths: []string{
			".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".shrc", ".shinit",
			".config/fish/**", "config.fish", "fish/conf.d/**", ".config/nushell/**", ".elvish/**", ".xonshrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".bashrc.d/**", ".zshrc.d/**", "zsh/.*",
			"bash.bashrc", "etc/profile", "profile.d/**", "etc/bashrc", "etc/zsh/**", "bashrc", "zshrc", "bash_profile", "zshenv", "dot_bashrc*", "dot_zshrc*", "dot_profile*", "dot_bash_profile*", "microsoft.powershell_profile.ps1", "profile.ps1", ".oh-my-zsh/**", "bash_completion.d/**", ".bash_*", ".zsh*", ".aliases", ".exports", ".functions", ".shellrc", ".kshenv", "etc/environment.d/**", "i3/config", "sway/config", "hypr/*.conf",
			"dot_zshenv*", "dot_zprofile*", "dot_bash_*", "dot_config/fish/**", "dot_xprofile*", "dot_xinitrc*", ".chezmoiscripts/**", ".config/elvish/**", ".config/xonsh/**", ".config/zsh/**", ".config/bash/**", ".config/powershell/**", ".config/direnv/**", ".zsh/**", ".bash/**", ".yashrc", ".oilrc", ".ionrc", ".config/ion/**", ".config/oil/**", "xinitrc", "xinitrc.d/**", "update-motd.d/**", "run_once_*.sh*", "run_onchange_*.sh*", "run_before_*.sh*", "run_after_*.sh*",
		},
	},
	{Name: "direnv", Severity: danger, Why: "direnv runs this file in your shell when you enter the folder", Paths: []string{".envrc", ".envrc.*", ".direnvrc", ".direnv/**", ".autoenv", ".autoenv.zsh", ".env.fish", ".in", ".out"}, Not: []string{".envrc.example", ".envrc.sample", ".envrc.template"}},
	{
		Name: "tool-start", Severity: danger,
		Why: "a tool runs this file when it starts in this folder or from this home",
		Paths: []string{
			".rprofile", "rprofile.site", ".renviron", ".first.r", ".gdbinit", "gdbinit", ".lldbinit", ".lldbinit-*", ".radare2rc", ".pdbrc", ".pdbrc.py", ".pythonrc", ".pythonrc.py", ".pythonstartup", ".irbrc", ".pryrc", ".iex.exs", ".ghci", ".ocamlinit", ".utoprc", ".sbclrc", ".guile", ".octaverc", ".sqliterc", ".psqlrc", ".myclirc", ".julia/**", ".startup.jl", ".lesskey", ".lessfilter", ".perldb", ".node_repl_rc", ".jshellrc", ".scala-repl", ".predef.sc", ".clojure/**", ".lein/**", ".ipython/**", ".jupyter/**", ".bpython/**", ".ptpython/**", ".gdbinit.*", "gdbinit.*", ".gdbearlyinit", "gdb/auto-load/**", "*-gdb.py", "*-gdb.gdb", "*-gdb.scm", ".psqlrc-*", ".pythonstartup.*", ".irbrc.*", ".pry.rb", ".iex.*.exs", ".erlang", ".ammonite/**", ".utop/**", "jupyter_*config.py", "ipython_config.py", ".sage/**", ".matplotlib/**", ".iterm2/**", ".hgrc", "hgrc", ".hg/**", ".sl/**", ".jj/**", ".jjconfig.toml", "_darcs/**", ".pijul/**", ".pijul.toml",
			"profile_default/startup/**", "startup.jl", "startup.m", "finish.m", "init.wl", "kernel/init.m", "latexmkrc", ".latexmkrc", "sbcl.rc", "pathdef.m",
		},
	},
	{
		Name: "tool-settings", Severity: warn,
		Why:   "a terminal tool reads this file and may run what it names",
		Paths: []string{".inputrc", ".editrc", ".tmux.conf", "tmux.conf", ".screenrc", ".wgetrc", ".curlrc", ".dircolors", ".lessrc", ".ackrc", ".ripgreprc", ".fdrc", ".tigrc", ".bzr/**", ".svn/**", ".mailrc", ".muttrc", ".msmtprc", ".fetchmailrc", ".procmailrc", ".forward", ".plan", ".starship.toml", "starship.toml", ".zellij.kdl", ".kitty.conf", "kitty.conf", "alacritty.toml", "wezterm.lua", ".wezterm.lua", ".hushlogin", ".lftprc", ".telnetrc", ".selected_editor", ".tmuxinator.yml", ".tmuxp.*", ".config/lazygit/**", ".config/tmux/**", ".tmate.conf", ".nanorc", ".sdkmanrc", ".byobu/**", "treefmt.toml", ".treefmt.toml", "dprint.json", "dprint.jsonc", ".dprint.json", ".config/**", ".mailcap", "mailcap", ".lesspipe", "bspwmrc", "sxhkdrc", "hyprland.conf", "awesome/rc.lua", "openbox/**", "qtile/config.py", "xmonad.hs", "karabiner.json", "*.ahk", "*.au3", "arararc.y*ml", "texmf.cnf", "config.asy", "gap.ini", "gpg.conf", "matplotlibrc"},
	},
	{
		Name: "environment-file", Severity: warn,
		Why:   "tools load the variables of this file into what they start, PATH and preload settings included",
		Paths: []string{".env", ".env.*", "*.env", ".flaskenv", ".environment", "environment.d/**", "etc/environment", ".pam_environment", ".dev.vars", ".ondevice.env", ".secrets", ".runtimeconfig.json"},
		Not:   []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema", "*.example.env", "example.env", "sample.env", "template.env", "*.md", "*.d.ts"},
	},
	{
		Name: "environment-manager", Severity: warn, Comment: "#",
		Why:   "the environment manager runs tasks, sets PATH or fetches tools from this when you enter or build",
		Paths: []string{"mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".mise/**", "mise/config.toml", ".config/mise/**", ".config/mise.toml", ".rtx.toml", ".tool-versions", ".asdfrc", "devbox.json", "devenv.nix", "devenv.yaml", "devshell.toml", ".devshell/**", "nix.conf", "rtx.toml", "devbox.d/**", ".aqua.*", ".rbenv-vars", "flake.nix", "shell.nix", "default.nix", "*.nix", "guix.scm", "manifest.scm", ".envwrap", ".lando.yml", ".ddev/**", "procfile", "procfile.*", ".foreman", "pixi.toml", "hermit.hcl", "bin/hermit", "bin/activate-hermit", ".prototools", "proto.toml", ".moon/**", "aqua.y*ml", ".aqua/**", "flox/**", ".flox/**", "environment.y*ml", ".condarc", ".volta", "package-manager.json", "vfox.toml", ".vfox.toml", ".exrc.mise", "doppler.y*ml", "secretspec.toml", "mprocs.*", "bacon.toml", "watchman.json", "air.conf", "modd.conf", "channels.scm"},
	},
	{
		Name: "environment-hook", Severity: danger,
		Why:   "the environment manager runs this in your shell whenever you enter the folder",
		Paths: []string{"mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".mise/config*.toml", "mise/config*.toml", ".config/mise.toml", ".config/mise/**", ".mise/conf.d/**", ".rtx.toml", "rtx.toml", ".rtx.*.toml"},
		Line:  `^\s*\[+\s*(hooks|watch_files)\b|^\s*["']?hooks["']?\s*[.=]|^\s*(enter|leave|cd|preinstall|postinstall)\s*=|\b_\.["']?source\b|\b_\s*=\s*\{.*\bsource\b|^\s*["']?source["']?\s*=|\bexec\s*\(`,
	},
	{Name: "ssh-home", Severity: danger, Why: "ssh runs commands from its configuration, and a key listed here opens the account", Paths: []string{".ssh/**", "authorized_keys", "authorized_keys2", "ssh_config", "sshd_config", "sshd_config.d/**", "ssh_config.d/**", "ssh/config", ".shosts", ".rhosts", "hosts.equiv"}, Not: []string{".ssh/known_hosts*"}},

	// editors
	{
		Name: "editor-task", Severity: danger,
		Why: "the editor starts what this names when the folder is opened, a file is saved or a key is pressed",
		Paths: []string{
			".vscode/tasks.json", ".vscode/launch.json", ".vscode/mcp.json", ".vscode/*.js", ".vscode/*.sh", ".vscode/extensions/**", ".vscode-server/**", ".vscode/c_cpp_properties.json", ".vscode/cmake-kits.json", ".vscode/toolbox.json",
			".idea/runconfigurations/**", ".run/**", ".idea/workspace.xml", ".idea/externaltools.xml", ".idea/watchertasks.xml", ".idea/tools/**", ".idea/startup.xml", ".idea/terminal.xml", ".idea/externaldependencies.xml",
			".exrc", ".nvimrc", ".vimrc", "_vimrc", ".nvim.lua", ".nvim/**", ".vim/**", ".gvimrc", ".lvimrc", ".local.vimrc", ".vimspector.json", ".ycm_extra_conf.py", ".config/nvim/**", ".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d/**", ".spacemacs", ".projectile", ".eclim", ".kakrc", ".kak/**", ".fleet/run.json", ".theia/tasks.json", ".theia/launch.json", ".nova/tasks/**", ".vs/**", ".cursor/tasks.json",
			".vscodium/tasks.json", "session.vim",
		},
	},
	{Name: "editor-settings", Severity: danger, Why: "editor settings name programs that the editor starts, and can trust the folder or approve agents' tools", Paths: []string{".vscode/settings.json", "*.code-workspace", ".theia/settings.json", ".vscode/*.code-snippets", ".vscode/extensions.json"}, Check: editorSettings},
	{
		Name: "editor-project", Severity: warn,
		Why:   "the editor reads this project file, which can name servers, interpreters and tools to start",
		Paths: []string{".idea/**", "tasks.vs.json", "launch.vs.json", "*.sublime-workspace", "*.iml", "*.ipr", "*.iws", ".zed/**", ".helix/**", ".fleet/**", ".nova/**", ".luarc.json", ".luarc.jsonc", ".luarc.lua", ".clangd", "compile_commands.json", "compile_flags.txt", ".ccls", ".cquery", "*.sublime-project", "*.sublime-build", "*.sublime-settings", ".sublime/**", "coc-settings.json", ".vim-lsp*", ".neoconf.json", ".nvim-dap*", ".lapce/**", ".settings/**", ".project", ".classpath", ".factorypath", ".externaltoolbuilders/**", "nbproject/**", "*.kdev4", ".kdev4/**", "*.pro.user", ".atom/**", ".brackets.json", "pyrightconfig.json.local", ".lsp/**", ".clj-kondo/**", ".metals/**", ".bloop/**", ".bsp/**", ".swiftpm/**", "*.xcscheme", "*.xcworkspace/**", ".textadept/**", ".lite_project.lua", ".vscodium/**", ".replit", "replit.nix", ".gitpod.y*ml", ".gitpod.dockerfile", ".idx/**", ".codesandbox/**", ".stackblitzrc", "sandbox.config.json", ".glitch*", "*.geany", ".geanyprj", "*.workspace", ".micro/**", ".lem/**", "*.code-snippets", "jupytext.toml", "cmakelists.txt.user", "cmakelists.user", "*.vcxproj.user", "devfile.y*ml", ".devfile.y*ml", "che-theia-plugins.y*ml", "coder.y*ml", "project.godot", "*.uproject"},
		Not:   []string{".idea/.gitignore", ".idea/codestyles/**", ".idea/inspectionprofiles/**", ".idea/dictionaries/**"},
	},
	{
		Name: hiddenRule, Severity: warn, Check: hiddenSettings,
		Why:   "tools look for hidden files by their names and may run what they say; which one reads this is not known here",
		Paths: []string{".*", ".*/**"},
		Not: []string{
			".gitignore", ".gitkeep", ".keep", ".gitempty", ".empty", ".placeholder", "*ignore", ".editorconfig", ".nojekyll", ".mailmap", ".browserslistrc", ".npmrc.example",
			".clang-format", ".clang-format-ignore", ".rustfmt.toml", ".ocamlformat", ".scalafmt.conf", ".scalafmt", ".cljfmt.edn", ".stylua.toml", "stylua.toml", ".taplo.toml", ".astylerc", ".indent.pro", ".jsbeautifyrc", ".csscomb.json", ".prettierrc.example", ".gersemirc", ".cmake-format*", ".fprettify.rc", ".markdownlint.*", ".markdownlintrc", ".cspell.json", ".codespellrc", ".typos.toml", ".yamlfmt*",
			".nvmrc", ".node-version", ".python-version", ".ruby-version", ".java-version", ".go-version", ".terraform-version", ".swift-version", ".bun-version", ".perl-version", ".lua-version", ".php-version", ".tool-version", ".gitmessage", ".git-commit-template*",
			"*.example", "*.sample", "*.template", "*.dist",
			".github/issue_template/**", ".github/pull_request_template/**", ".github/release.y*ml", ".github/labels.y*ml", ".github/discussion_template/**", ".gitlab/issue_templates/**", ".gitlab/merge_request_templates/**", ".well-known/**", ".vs/.gitignore",
			".idea/codestyles/**", ".idea/inspectionprofiles/**", ".idea/dictionaries/**",
		},
	},
	{Name: "modeline", Severity: note, Why: "an editor that honours modelines sets options from this line", Line: `(?i)\b(vim?|ex):\s*(set?\s.*)?(foldexpr|foldtext|formatexpr|indentexpr|includeexpr|diffexpr|printexpr|balloonexpr|statusline|rulerformat|titlestring|tabline|makeprg|grepprg|equalprg|keywordprg|formatprg|shell|path|tags|runtimepath|rtp|packpath|viminfofile)=|-\*-.*\b(eval|mode-command)\s*:`, Has: []string{"vim:", "vi:", "ex:", "-*-"}},
	{
		Name: "modeline-code", Severity: warn,
		Why:  "an editor that honours modelines evaluates this when the file is opened",
		Line: `(?i)\b(vim?|ex):.*\b(system|systemlist|execute|luaeval|pyx?3?eval|perleval|rubyeval|mzeval|eval|call|writefile|delete|feedkeys|job_start|term_start|ch_open\w*|libcall\w*|source|assert_fails)\(|\bvim?:\s*set?\s.*\bmodelineexpr\b|(^|[^\w.])eval:\s*['` + "`" + `]?\(\s*([a-z]+-[\w-]+|progn|setq|let\*?|when|unless|load|require|lambda|call-process|eval)[\s)]|^\W*(-\*-.*)?\b(safe-local-variable-values|enable-local-(eval|variables)|local-enable-local-variables|compilation-\w+-function|before-save-hook|after-save-hook|find-file-hook|write-contents-functions|tramp-[\w-]+)\s*:\s*\S`,
		Has:  []string{"vim:", "vi:", "ex:", "eval:", "safe-local", "local-eval", "local-variables", "-hook", "-functions"},
	},
	{Name: "devcontainer", Severity: danger, Why: "opening the folder in a container runs commands of this file on the host and can mount its folders", Paths: []string{".devcontainer/**", ".devcontainer.json", "devcontainer.json", "devcontainer-feature.json"}, Gone: note},

	// the system
	{
		Name: "system-start", Severity: warn,
		Why:   "installed or opened, this starts a program at boot, at log-in, by the clock or by a click",
		Plain: []string{"autostart/**", "systemd/**", "snap/**", "runit/**", "s6/**", "dbus-1/**", "udev/rules.d/**"},
		Paths: []string{"*.service", "*.timer", "*.socket", "*.path", "*.mount", "*.automount", "*.target", "*.desktop", "launchagents/**", "launchdaemons/**", "crontab", "*.crontab", "cron.d/**", "cron.daily/**", "cron.hourly/**", "cron.weekly/**", "cron.monthly/**", "*.cron", "anacrontab", "init.d/**", "rc.local", "rc.d/**", "inittab", "upstart/**", "*.rules.d/**", "modprobe.d/**", "modules-load.d/**", "tmpfiles.d/**", "sysctl.d/**", "logrotate.d/**", "supervisord.conf", "supervisor/conf.d/**", "*.reg", "*.lnk", "*.scf", "*.url", "*.jnlp", "*.sct", "*.inf", "*.library-ms", "*.settingcontent-ms", "*.appref-ms", "*.rdp", "*.msc", "*.diagcab", "*.mobileconfig", "chocolateyinstall.ps1", "chocolateyuninstall.ps1", "chocolateybeforemodify.ps1", "*.hta", "*.vbs", "*.wsf", "*.jse", "autorun.inf", "desktop.ini", "*.scpt", "*.applescript", "*.workflow/**", "*.command", "*.webloc", "*.plist.in", "monit.d/**", "monitrc", "*.openrc", "incron.d/**", "*.app/contents/**", "xinetd.d/**", "pacman.d/hooks/**", "apt.conf.d/**", "dpkg.cfg.d/**", "debian/*inst", "debian/*rm", "debian/rules", "debian/control", "*.spec", "pkgbuild", "*.install", "apkbuild", "*.ebuild", "snapcraft.yaml", "*.flatpak.y*ml", "kernel/install.d/**", "*.wants/**", "sysusers.d/**", "binfmt.d/**", "/sysctl.conf", "etc/sysctl.conf", "sv/*/run", "sv/*/finish", "*.runit/**", "*.initd", "*.upstart", "init/*.conf", "*.logrotate", "*.pre-install", "*.post-install", "*.pre-upgrade", "*.post-upgrade", "*.pre-deinstall", "*.post-deinstall", "flatpak/**", "org.*.*.y*ml", "org.*.*.json", "io.*.*.y*ml", "com.*.*.y*ml", "apprun", "*.appdir/**", "appimagebuilder.y*ml", "*.wxs", "*.iss", "*.nsi", "*.nsh", "bucket/*.json", "scoop.json", "winget.y*ml", "*.installer.y*ml", "distribution.xml", "nfpm.y*ml", ".fpm", "fpm.sh", "debian/*.triggers", "debian/*.cron*", "debian/*.init", "debian/*.service", "/postinst", "/prerm", "/postrm", "/preinst", "deb/postinst", "rpm/*.sh", "scripts/postinst", "scripts/prerm", "scripts/postrm", "scripts/preinst", "portfile", "srcpkgs/**", "pkg-install", "pkg-deinstall", "pkg-plist", "+install", "+deinstall", "native-messaging-hosts/**", "nativemessaginghosts/**", "grub.cfg", "grub.d/**", "etc/default/grub", "extlinux.conf", "loader/entries/**", "dracut.conf.d/**", "dracut.conf", "mkinitcpio.conf", "initramfs-tools/**", "initcpio/**", "dispatcher.d/**", "if-up.d/**", "if-down.d/**", "if-pre-up.d/**", "ip-up.d/**", "ip-down.d/**", "dhclient-exit-hooks.d/**", "dhclient-enter-hooks.d/**", "apt/apt.conf", "dnf/plugins/**", "libalpm/hooks/**", "*.hook", "postinst.d/**", "lightdm.conf", "gdm3/**", "*.gadget", "after-install*", "before-install*", "after-remove*", "before-remove*", "after-upgrade*", "before-upgrade*"},
		Not:   []string{"*.spec.*", "spec/*.spec"},
	},
	{
		Name: "starts-itself", Severity: warn, Code: true, InTests: note,
		Why:  "running this makes something start again: at log-in, at boot, by the clock or with each shell",
		Line: `\btee\s+(-a\s+)?["']?(~|\$\{?HOME\}?|/root|/home/\w+)/(\.(bash|zsh|profile|zprofile|xprofile|config/(fish|autostart|systemd)))|['"/](\.(bash(rc|_profile|_login|_aliases)|zsh(rc|env)|zprofile|zlogin|profile|xprofile|xinitrc|pam_environment)|\.ssh/(authorized_keys|config|rc)|\.config/(autostart|systemd/user|fish)/[^'"]*|LaunchAgents/[^'"]*)['"].*(['"][aw]b?\+?t?['"]|\bwrite|\bappend|O_APPEND|O_WRONLY)|\b(write\w*|append\w*|copy\w*|symlink\w*|file_put_contents)\s*\(.*['"/](\.(bash(rc|_profile|_login|_aliases)|zsh(rc|env)|zprofile|zlogin|profile|xprofile|xinitrc|pam_environment)|\.ssh/(authorized_keys|config|rc)|\.config/(autostart|systemd/user|fish)/[^'"]*|LaunchAgents/[^'"]*)['"]|>>?\s*["']?/etc/cron\S*/|\|\s*crontab\b|\bcrontab\s+(-u\s+\S+\s+)?(-|[\w./~$]+\s*$)|\bsystemctl\b.*\benable\b|\blaunchctl\s+(load|bootstrap|submit|enable)|\bschtasks(\.exe)?\s.*/create|\bRegister-ScheduledTask|\bupdate-rc\.d\s|\bchkconfig\s.*\bon\b|\brc-update\s+add|CurrentVersion\\+Run|>>?\s*["']?(~|\$\{?HOME\}?|/root|/home/\S+|/etc)/(\.?(bash|zsh|k|c|tc)(rc|_profile|env|_login|_logout|_aliases)\b|\.profile|\.zprofile|profile\b|profile\.d/|\.config/(fish|autostart|systemd)|cron\S*/|rc\.local|environment\b|ld\.so)|\bat\s+now\b|\bloginctl\s+enable-linger|New-Service\b|\bsc(\.exe)?\s+create\s|LaunchAgents/|autostart/\S*\.desktop`,
	},
	{Name: "launch-list", Severity: warn, Why: "this property list makes the system start a program", Paths: []string{"*.plist"}, Line: `ProgramArguments|<key>Program</key>|RunAtLoad|StartInterval|KeepAlive`},
	{
		Name: "system-rights", Severity: warn,
		Why:   "installed, this file gives an account or a program more rights on the system",
		Paths: []string{"sudoers", "sudoers.d/**", "doas.conf", "pam.d/**", "polkit-1/**", "*.policy.d/**", "ld.so.preload", "ld.so.conf", "ld.so.conf.d/**", "etc/passwd", "etc/shadow", "etc/group", "etc/hosts", "etc/resolv.conf", "etc/nsswitch.conf", "apparmor.d/**", "selinux/**", "*.te", "seccomp*.json", "security/limits.d/**", "etc/shells", "etc/subuid", "etc/subgid", "*.pkla", "capability.conf", "*.sudoers", "*.pam", "*.entitlements", "etc/fstab", "etc/security/**", "securetty", "nsswitch.conf", "*.cil", "org.*.policy", "package.appxmanifest", "app.manifest", "*.exe.manifest"},
	},
	{
		Name: "system-rules", Severity: warn,
		Why:   "installed, these rules of the system start a program as root, or let an account do more than before",
		Paths: []string{"*.rules", "*.policy", "*.conf", "*.conf.in", "*.rules.in", "*.policy.in", "androidmanifest.xml"},
		Line:  `\bpolkit\.\w+|<allow_(active|any|inactive)>|\bRUN(\{\w+\})?\s*\+?=|\bIMPORT\{program\}|\bPROGRAM\s*==?|<busconfig|<allow\s+(send|own|eavesdrop|receive)\w*=|\bpam_\w+\.so\b|\bSUBSYSTEM\b.*==|<uses-permission|android:exported\s*=\s*"true"|android:debuggable\s*=\s*"true"`,
		Has:   []string{"polkit.", "<allow", "RUN", "IMPORT{", "PROGRAM", "<busconfig", "pam_", "SUBSYSTEM", "<uses-permission", "android:"},
	},
	{
		Name: "rights-given-away", Severity: warn, Code: true,
		Why:  "running this gives a program or an account rights that it keeps afterwards",
		Line: `\bchmod\b[^|;&]*(\b[ugo]*a?\+[rwx]*s|\b[0-7]?[2467][0-7]{3}\b|\b0?777\b)|\bsetcap\b\s+\S*cap_|NOPASSWD|\b(usermod|gpasswd|adduser|addgroup)\b[^|;&]*\b(docker|sudo|wheel|root|admin|lxd|libvirt|disk|kvm)\b|\binstall\b[^|;&]*(-\w*m\s*|--mode[= ])[0-7]?[2467][0-7]{3}\b|\bvisudo\b|\b(useradd|adduser|usermod|pw\s+useradd)\b[^|;&]*(-u[ =]?0\b|--uid[ =]0\b|-\w*[gG]\s*(root|wheel|sudo|docker|0)\b)|>>?\s*["']?(/\w+)*/etc/(passwd|shadow|group|gshadow|doas\.conf|pam\.d/\S+|ssh/sshd_config\S*|hosts\.(allow|equiv)|subuid|subgid|ld\.so\.\S+)\b|\btee\s+(-a\s+)?["']?/etc/(passwd|shadow|group|doas\.conf|pam\.d/|ssh/|subuid|subgid|ld\.so|sudoers)|\bsed\s+-\w*i\S*\s.*/etc/(passwd|shadow|group|sudoers|pam\.d/|ssh/sshd_config)|\bpasswd\s+(-d|--delete|--stdin|-u)\b|\|\s*(sudo\s+)?chpasswd\b|\busermod\s+[^|;&]*(-p|--password)\b|\bPermit(RootLogin|EmptyPasswords)\s+(yes|without-password)\b|\bnet1?(\.exe)?\s+(localgroup|group|user)\s[^|;&]*/add\b|\bAdd-LocalGroupMember\b|\bNew-LocalUser\b|\bdscl\s[^|;&]*(-append|-create)\s+/(Groups/(admin|wheel)|Users/\S+\s+UniqueID\s+0)|\bdseditgroup\s[^|;&]*\b(admin|wheel)\b|\bDefaultRootAccount\b|\bxhost\s*\+|\bsetfacl\b[^|;&]*-m\s*[ug]?:?\S*:rwx\s+/|\bchown\b\s+(-\w+\s+)?root\b|/etc/sudoers|ld\.so\.preload|\bos\.(chmod|setuid|setgid)\([^)]*(0o?[2467]7{3}|S_IS[UG]ID)|\bsetenforce\s+0|apparmor_parser\s+-R|sysctl\s+-w|echo\s.*>\s*/proc/sys/|\binsmod\b|\bmodprobe\b|iptables\s+-F|ufw\s+disable|spctl\s+--master-disable|csrutil\s+disable|Set-ExecutionPolicy\s+(Unrestricted|Bypass)|xattr\s+-\w*d\w*\s+com\.apple\.quarantine|[/>]\s*authorized_keys|\b(docker|podman|nerdctl)\s+(run|create|exec)\b.*(--privileged|(docker|containerd|podman)\.sock|(-v|--volume)[= ]/:|--(pid|net|network|ipc|userns|uts)[= ]host|--cap-add|unconfined)`,
	},
}
