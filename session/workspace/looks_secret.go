package workspace

// LooksSecret tells whether a file's name or folder says that it holds secrets.
func LooksSecret(path string) bool { return secretByName(path) != "" }

// SecretIn says why a file looks like a secret by its name or by what is in it,
// or "".
func SecretIn(path string, data []byte) string {
	if why := secretByName(path); why != "" {
		return why
	}
	return secretByContent(path, data)
}
