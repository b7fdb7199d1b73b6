package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Top is what of the host's root appears inside, where it exists there: by
// name, a folder as a read-only overlay, a link as a link.
func Top() []string {
	return []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix/store", "gnu/store"}
}

// EtcFiles is what of the host's /etc is copied, where it exists there: what
// programs need to start, resolve names of services, find certificates, show
// text. No file here may hold a secret or name an account.
func EtcFiles() []string {
	return []string{
		"ld.so.cache", "ld.so.conf", "localtime", "os-release", "lsb-release", "debian_version",
		"alpine-release", "fedora-release", "redhat-release", "arch-release",
		"services", "protocols", "ethertypes", "rpc", "host.conf", "gai.conf",
		"inputrc", "bash.bashrc", "bashrc", "profile", "shells", "login.defs", "locale.alias", "locale.conf",
		"mime.types", "magic", "magic.mime", "mailcap", "papersize", "nanorc", "screenrc", "DIR_COLORS",
		"ssl/openssl.cnf", "ca-certificates.conf", "manpath.config", "java-17-openjdk/security/java.security",
	}
}

// EtcFolders is what of the host's /etc appears as read-only overlays.
func EtcFolders() []string {
	return []string{
		"alternatives", "ld.so.conf.d", "ssl/certs", "ca-certificates", "pki/tls/certs", "pki/ca-trust",
		"profile.d", "terminfo", "vim", "fonts", "java", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk",
		"java-21-openjdk", "perl", "python3", "python3.11", "python3.12", "python3.13", "bash_completion.d", "crypto-policies",
	}
}

// Bundles is where the host's programs look for certificates, below /etc, as
// far as it is a file of its own there.
func Bundles() []string {
	return []string{
		"ssl/certs/ca-certificates.crt", "ssl/ca-bundle.pem", "ssl/cert.pem", "ca-certificates/extracted/tls-ca-bundle.pem",
		"pki/tls/certs/ca-bundle.crt", "pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	}
}

// trust shows the session's certificates, and in each place where the host has
// its own, so that programs find them that know no variable for it.
func trust(in Input) []Step {
	if in.Trust.Host == "" {
		return nil
	}
	pl := in.Trust
	steps := []Step{{Do: Overlay, Target: rel(Trust), Source: pl.Host, FD: pl.FD, Dev: pl.Dev, Ino: pl.Ino}}
	for _, name := range in.Host.Bundles {
		if slices.ContainsFunc(in.Host.EtcFolders, func(f Entry) bool { return strings.HasPrefix(name, f.Name+"/") }) {
			steps = append(steps, Step{Do: Cover, Target: "etc/" + name, Source: rel(Trust) + "/" + TrustBundle})
		}
	}
	return steps
}

// etcMade is what fumehood writes itself.
func etcMade(in Input) []Step {
	file := func(name, text string) Step {
		return Step{Do: File, Target: "etc/" + name, Text: text, Mode: 0o644}
	}
	return []Step{
		file("passwd", passwd(in)),
		file("group", group(in)),
		file("hostname", Hostname+"\n"),
		file("hosts", "127.0.0.1 localhost "+Hostname+"\n::1 localhost ip6-localhost ip6-loopback\n"),
		// A lookup of a name is answered at once by the socket for names, which the
		// supervisor serves and writes down; without one the loopback refuses it.
		file("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n"),
		file("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
		// The host's own would be a name for the machine that outlives the session.
		file("machine-id", in.MachineID+"\n"),
		file("subuid", ""), file("subgid", ""),
		{Do: Symlink, Target: "etc/mtab", Text: "../proc/self/mounts"},
	}
}

func passwd(in Input) string {
	var b strings.Builder
	b.WriteString("root:x:0:0:root:/nonexistent:/bin/false\n")
	if in.UID != 65534 {
		b.WriteString("nobody:x:65534:65534:not of this sandbox:/nonexistent:/bin/false\n")
	}
	fmt.Fprintf(&b, "%s:x:%d:%d:fumehood session:%s:%s\n", in.User, in.UID, in.GID, Home, in.Shell)
	return b.String()
}

func group(in Input) string {
	var b strings.Builder
	b.WriteString("root:x:0:\ntty:x:5:\n")
	if in.GID != 65534 {
		b.WriteString("nogroup:x:65534:\n")
	}
	if in.GID != 5 {
		fmt.Fprintf(&b, "%s:x:%d:\n", in.User, in.GID)
	}
	return b.String()
}
