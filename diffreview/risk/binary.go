package risk

import (
	"bytes"

	"fumehood/diffreview"
)

// A kind of binary content, by its first bytes.
type magic struct {
	at    int
	bytes string
	what  string
}

var executableMagic = []magic{
	{0, "\x7fELF", "an ELF program or library"},
	{0, "MZ", "a Windows program or library"},
	{0, "\xfe\xed\xfa\xce", "a Mach-O program"},
	{0, "\xfe\xed\xfa\xcf", "a Mach-O program"},
	{0, "\xce\xfa\xed\xfe", "a Mach-O program"},
	{0, "\xcf\xfa\xed\xfe", "a Mach-O program"},
	{0, "\xca\xfe\xba\xbe", "Java byte code or a Mach-O program"},
	{0, "\x00asm", "a WebAssembly module"},
	{0, "dex\n", "Android byte code"},
	{0, "BC\xc0\xde", "LLVM bit code"},
	{0, "\x1bLua", "Lua byte code"},
	{0, "\x1bLJ", "Lua byte code"},
	{0, "\xed\x0d\x0d\x0a", "Python byte code"},
}

var archiveMagic = []magic{
	{0, "PK\x03\x04", "a zip archive or a package made as one"},
	{0, "PK\x05\x06", "a zip archive"},
	{0, "\x1f\x8b", "gzip data"},
	{0, "BZh", "bzip2 data"},
	{0, "\xfd7zXZ\x00", "xz data"},
	{0, "\x28\xb5\x2f\xfd", "zstd data"},
	{0, "\x04\x22\x4d\x18", "lz4 data"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{0, "Rar!\x1a\x07", "a rar archive"},
	{0, "!<arch>\n", "an ar archive: a library or a package"},
	{0, "\xed\xab\xee\xdb", "an rpm package"},
	{257, "ustar", "a tar archive"},
	{0, "MSCF", "a cabinet archive"},
	{0, "070701", "a cpio archive"},
	{0, "hsqs", "a file system image"},
	{32769, "CD001", "a disk image"},
	{0, "Cr24", "a browser extension"},
	{0, "xar!", "a package"},
	{0, "\x80\x02", "pickled Python objects, which run code when loaded"},
	{0, "\x80\x03", "pickled Python objects, which run code when loaded"},
	{0, "\x80\x04\x95", "pickled Python objects, which run code when loaded"},
	{0, "\x80\x05\x95", "pickled Python objects, which run code when loaded"},
	{0, "\xac\xed\x00\x05", "serialised Java objects"},
	{0, "\x89HDF", "a model or data file that can name code to load"},
	{0, "LZIP", "lzip data"},
	{0, "\x1f\x9d", "compressed data"},
	{0, "QFI\xfb", "a disk image"},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document or installer, which can hold macros"},
}

// harmless kinds, which only a viewer opens. The ending has to agree.
var pictureMagic = []magic{
	{0, "\x89PNG\r\n\x1a\n", ".png .apng .ico .icns"},
	{0, "\xff\xd8\xff", ".jpg .jpeg .jfif"},
	{0, "GIF87a", ".gif"},
	{0, "GIF89a", ".gif"},
	{8, "WEBP", ".webp"},
	{8, "WAVE", ".wav"},
	{8, "AVI ", ".avi"},
	{4, "ftyp", ".mp4 .m4a .m4v .mov .avif .heic .3gp"},
	{0, "BM", ".bmp"},
	{0, "\x00\x00\x01\x00", ".ico"},
	{0, "\x00\x00\x02\x00", ".cur"},
	{0, "icns", ".icns"},
	{0, "II*\x00", ".tif .tiff"},
	{0, "MM\x00*", ".tif .tiff"},
	{0, "%PDF-", ".pdf .ai"},
	{0, "OggS", ".ogg .oga .ogv .opus"},
	{0, "ID3", ".mp3"},
	{0, "\xff\xfb", ".mp3"},
	{0, "fLaC", ".flac"},
	{0, "\x1aE\xdf\xa3", ".webm .mkv"},
	{0, "wOFF", ".woff"},
	{0, "wOF2", ".woff2"},
	{0, "\x00\x01\x00\x00", ".ttf"},
	{0, "OTTO", ".otf"},
	{0, "true", ".ttf"},
	{0, "ttcf", ".ttc"},
	{0, "MThd", ".mid .midi"},
	{0, "glTF", ".glb"},
	{0, "qoif", ".qoi"},
	{0, "\xff\x0a", ".jxl"},
	{0, "RIFF", ".wav .webp .avi"},
	{0, "8BPS", ".psd"},
	{0, "DDS ", ".dds"},
	{0, "\xabKTX", ".ktx .ktx2"},
	{0, "FORM", ".aiff .aif"},
}

var (
	executableExt = words(".exe .dll .so .dylib .o .obj .a .lib .pyc .pyo .pyd .class .wasm .node .com .scr .sys .ko .msi .bin .elf .dex .beam .luac .jsc .bc .cpl .ocx .efi .rom .hex .uf2 .axf")
	archiveExt    = words(".zip .jar .war .ear .aar .whl .egg .gem .nupkg .vsix .xpi .crx .apk .aab .ipa .deb .rpm .apk .pkg .dmg .iso .img .snap .flatpak .appimage .tar .tgz .gz .bz2 .tbz .xz .txz .zst .7z .rar .cab .crate .conda .phar .pkl .pickle .joblib .pt .pth .ckpt .h5 .keras .onnx .docm .xlsm .pptm .xla .xlam .dotm .doc .xls .ppt .jmod .par .pak .squashfs .qcow2 .vmdk .vdi .ova .box .unitypackage .asar .lz4 .lzma .br .zstd .msix .appx .mcpb .dxt")
)

func findMagic(table []magic, b []byte) *magic {
	for i, m := range table {
		if len(b) >= m.at+len(m.bytes) && string(b[m.at:m.at+len(m.bytes)]) == m.bytes {
			return &table[i]
		}
	}
	return nil
}

// body is the new content when it is one to look at by its first bytes.
func (s *subject) body() []byte {
	if s.gone() || s.f.New.Kind != diffreview.KindFile || s.f.New.Blob == s.f.Old.Blob {
		return nil
	}
	if !s.f.Binary && len(s.fresh) > 0 && s.fresh[0].no != 1 && !executableExt.has(s.ext) && !archiveExt.has(s.ext) {
		return nil // a text that keeps its beginning
	}
	return s.content(s.f.New)
}

func executables(s *subject, _ picked) []hit {
	b := s.body()
	if b == nil {
		return nil
	}
	if m := findMagic(executableMagic, b); m != nil && (m.bytes != "MZ" || s.f.Binary) {
		return []hit{{why: "this is " + m.what + ", which can't be reviewed here"}}
	}
	if executableExt.has(s.ext) && (s.f.Binary || s.ext != ".hex" && s.ext != ".com" && s.ext != ".node") {
		return []hit{{}}
	}
	return nil
}

func archives(s *subject, _ picked) []hit {
	b := s.body()
	if b == nil {
		return nil
	}
	if m := findMagic(archiveMagic, b); m != nil {
		return []hit{{why: "this is " + m.what + ": it holds what is not shown here and may run when it is unpacked, loaded or installed"}}
	}
	if archiveExt.has(s.ext) && (s.f.Binary || !textToo.has(s.ext)) {
		return []hit{{}}
	}
	return nil
}

// textToo are endings of archives that texts have as well.
var textToo = words(".snap .doc .pak .par .box .pkg .gem .cab .conda .h5 .br")

// binaries covers binary content that is neither of the two above nor a kind
// that only a viewer opens.
func binaries(s *subject, _ picked) []hit {
	if !s.f.Binary || s.f.Unshown != "binary" || s.gone() {
		return nil
	}
	b := s.content(s.f.New)
	if findMagic(executableMagic, b) != nil || findMagic(archiveMagic, b) != nil {
		return nil // named by another rule
	}
	for i := range pictureMagic {
		m := &pictureMagic[i]
		if findMagic(pictureMagic[i:i+1], b) != nil && bytes.Contains([]byte(m.what+" "), []byte(s.ext+" ")) && s.ext != "" {
			sev := note
			if s.f.New.Exec {
				sev = warn
			}
			return []hit{{severity: sev, why: "a picture, font, sound or document: its content is not shown here"}}
		}
	}
	return []hit{{}}
}

func notShown(s *subject, _ picked) []hit {
	if s.f.Status == diffreview.TypeOf && s.f.New.Kind == diffreview.KindFile {
		return []hit{{why: "a link becomes a file: its lines are not shown and were not looked through"}}
	}
	if s.f.Unshown == "" || s.f.Unshown == "binary" {
		return nil
	}
	if s.gone() {
		return []hit{{severity: note, why: "the content is " + s.f.Unshown + " and is not shown"}}
	}
	return []hit{{why: "the content is " + s.f.Unshown + ": it is not shown and was not looked through"}}
}
