package workspace

// LooksSecret tells whether a file's name or folder says that it holds secrets.
func LooksSecret(path string) bool { return secretByName(path) != "" }
