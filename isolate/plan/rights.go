package plan

// Landlock's file system rights, by bit, with the ABI that brought each. The
// table is ours so that a plan for an older kernel can be made, and tested, on
// any machine.
const (
	fsExecute = 1 << iota
	fsWriteFile
	fsReadFile
	fsReadDir
	fsRemoveDir
	fsRemoveFile
	fsMakeChar
	fsMakeDir
	fsMakeReg
	fsMakeSock
	fsMakeFifo
	fsMakeBlock
	fsMakeSym
	fsRefer
	fsTruncate
	fsIoctlDev
	fsResolveUnix
)

// Landlock's scopes.
const (
	scopeAbstractUnix = 1 << iota
	scopeSignal
)

// MinABI is the floor: without "refer" (ABI 2) no file could be moved between
// folders of the workspace.
const MinABI = 2

// MaxABI is the newest that this table knows. A newer kernel is used at this
// level: its new rights are unknown here, so nothing could be granted of them.
const MaxABI = 9

// since is one row per ABI: what it can refuse that the one before could not.
var since = []struct {
	abi     int
	fs      uint64
	scoped  uint64
	log     bool
	covered string // what stands in for it on older kernels
}{
	{abi: 1, fs: 1<<13 - 1},
	{abi: 2, fs: fsRefer},
	{abi: 3, fs: fsTruncate, covered: "what may be truncated outside the writable folders is read-only by its mount"},
	{abi: 5, fs: fsIoctlDev, covered: "devices that are not needed are absent from the mount namespace"},
	{abi: 6, scoped: scopeAbstractUnix | scopeSignal, covered: "abstract sockets by the network namespace, signals by the pid namespace; only fumehood's own PID 1 is reachable, and it heeds none"},
	{abi: 7, log: true},
	{abi: 9, fs: fsResolveUnix, covered: "pathname sockets of the host are absent from the mount namespace"},
}

// Handled is everything that the kernel's ABI can refuse, as far as known here.
func Handled(abi int) Landlock {
	l := Landlock{ABI: min(abi, MaxABI)}
	for _, row := range since {
		if row.abi <= l.ABI {
			l.FS |= row.fs
			l.Scoped |= row.scoped
			l.Log = l.Log || row.log
		}
	}
	return l
}

// Missing says, for a kernel of this ABI, what it can't refuse through Landlock
// and which layer covers that.
func Missing(abi int) []string {
	var out []string
	for _, row := range since {
		if row.abi > abi && row.covered != "" {
			out = append(out, row.covered)
		}
	}
	return out
}

// What each kind of place grants. Making device nodes is granted nowhere.
const (
	rightsList   = fsReadDir
	rightsFile   = fsReadFile | fsExecute
	rightsRead   = fsReadFile | fsReadDir
	rightsFolder = fsReadFile | fsReadDir | fsExecute
	rightsWrite  = rightsFolder | fsWriteFile | fsTruncate | fsRemoveDir | fsRemoveFile |
		fsMakeDir | fsMakeReg | fsMakeSock | fsMakeFifo | fsMakeSym | fsRefer | fsResolveUnix
	rightsDevice = fsReadFile | fsWriteFile | fsTruncate | fsIoctlDev
	rightsPts    = rightsDevice | fsReadDir
)
