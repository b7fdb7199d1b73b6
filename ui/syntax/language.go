package syntax

import (
	"path"
	"strings"
)

// language is one row: a lexer's file and the names of files that it is for.
type language struct {
	lexer string
	exts  string // endings with their dots, each followed by a space
	names string // whole names in lower case, each followed by a space
	uses  string // lexers that it hands parts of its text to
}

// The lexers are chroma's, but for Go and Markdown, which chroma has as code.
var languages = []language{
	{lexer: "awk", exts: ".awk "},
	{lexer: "bash", exts: ".sh .bash .zsh .ksh .bats .ebuild ", names: ".bashrc .bash_profile .profile .zshrc .zshenv .envrc pkgbuild "},
	{lexer: "c", exts: ".c .h .idc .xbm "},
	{lexer: "clojure", exts: ".clj .cljs .cljc .edn "},
	{lexer: "cmake", exts: ".cmake ", names: "cmakelists.txt "},
	{lexer: "cpp", exts: ".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ino "},
	{lexer: "csharp", exts: ".cs .csx "},
	{lexer: "css", exts: ".css "},
	{lexer: "dart", exts: ".dart "},
	{lexer: "diff", exts: ".diff .patch "},
	{lexer: "docker", exts: ".dockerfile ", names: "dockerfile containerfile ", uses: "bash json "},
	{lexer: "elixir", exts: ".ex .exs "},
	{lexer: "erlang", exts: ".erl .hrl "},
	{lexer: "fish", exts: ".fish "},
	{lexer: "go", exts: ".go "},
	{lexer: "graphql", exts: ".graphql .gql "},
	{lexer: "groovy", exts: ".groovy .gradle ", names: "jenkinsfile "},
	{lexer: "haskell", exts: ".hs "},
	{lexer: "hcl", exts: ".hcl "},
	{lexer: "html", exts: ".html .htm .xhtml ", uses: "javascript css "},
	{lexer: "ini", exts: ".ini .cfg .conf .properties .service .socket .timer .desktop .editorconfig ", names: ".editorconfig .gitconfig .gitmodules .npmrc .flake8 .pylintrc "},
	{lexer: "java", exts: ".java "},
	{lexer: "javascript", exts: ".js .mjs .cjs "},
	{lexer: "json", exts: ".json .jsonc .json5 .webmanifest .ipynb ", names: ".babelrc .eslintrc .prettierrc composer.lock "},
	{lexer: "julia", exts: ".jl "},
	{lexer: "kotlin", exts: ".kt .kts "},
	{lexer: "lua", exts: ".lua "},
	{lexer: "makefile", exts: ".mk .mak ", names: "makefile gnumakefile ", uses: "bash "},
	{lexer: "markdown", exts: ".md .markdown .mkd .mdx "},
	{lexer: "meson", names: "meson.build meson_options.txt "},
	{lexer: "nginx", names: "nginx.conf "},
	{lexer: "nix", exts: ".nix "},
	{lexer: "objc", exts: ".m .mm "},
	{lexer: "ocaml", exts: ".ml .mli "},
	{lexer: "perl", exts: ".pl .pm .t "},
	{lexer: "php", exts: ".php "},
	{lexer: "powershell", exts: ".ps1 .psm1 .psd1 "},
	{lexer: "protobuf", exts: ".proto "},
	{lexer: "python", exts: ".py .pyi .pyw .bzl ", names: "sconstruct build.bazel workspace "},
	{lexer: "r", exts: ".r "},
	{lexer: "react", exts: ".jsx "},
	{lexer: "ruby", exts: ".rb .rake .gemspec .ru ", names: "gemfile rakefile vagrantfile brewfile podfile "},
	{lexer: "rust", exts: ".rs "},
	{lexer: "scala", exts: ".scala .sc .sbt "},
	{lexer: "scss", exts: ".scss "},
	{lexer: "sql", exts: ".sql "},
	{lexer: "swift", exts: ".swift "},
	{lexer: "terraform", exts: ".tf .tfvars "},
	{lexer: "toml", exts: ".toml ", names: "cargo.lock poetry.lock uv.lock pipfile "},
	{lexer: "typescript", exts: ".ts .tsx .mts .cts "},
	{lexer: "vue", exts: ".vue "},
	{lexer: "xml", exts: ".xml .svg .xsd .xsl .plist .csproj .props .targets "},
	{lexer: "yaml", exts: ".yaml .yml ", names: ".clang-format .clang-tidy "},
	{lexer: "zig", exts: ".zig "},
}

// Language names the language of a file by its name, "" for one without colours.
func Language(file string) string {
	name := strings.ToLower(path.Base(file))
	ext := path.Ext(name)
	if len(name) > 255 || strings.ContainsRune(name, ' ') {
		return ""
	}
	for i := range languages {
		if l := &languages[i]; has(l.names, name) {
			return l.lexer
		}
	}
	for i := range languages {
		if l := &languages[i]; ext != "" && has(l.exts, ext) {
			return l.lexer
		}
	}
	return ""
}

// has says whether a list has a word.
func has(list, word string) bool {
	for w := range strings.SplitSeq(list, " ") {
		if w == word && w != "" {
			return true
		}
	}
	return false
}
