package limits

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
)

// diskDepth is as deep as a path that the kernel takes can be.
const diskDepth = 2048

// Free asks the file system of a folder how many bytes and names are free.
func Free(dir *beneath.Dir) (bytes, names int64, err error) {
	var st unix.Statfs_t
	for {
		err := unix.Fstatfs(dir.Fd(), &st)
		if err == unix.EINTR {
			continue
		}
		return int64(st.Bfree) * st.Bsize, int64(st.Ffree), err
	}
}

// WalkDisk adds up what the folders take on disk: blocks, each inode once,
// folders themselves too. It follows no link, enters no mount, and ends at more
// than so many names.
func WalkDisk(ctx context.Context, dirs []*beneath.Dir, names int) (DiskUse, error) {
	began := time.Now()
	var u DiskUse
	var mu sync.Mutex
	linked := map[[2]uint64]bool{}
	for _, dir := range dirs {
		top, err := dir.Stat()
		if err != nil {
			return u, err
		}
		u.Bytes += top.Blocks * 512
		w, err := dir.Walk(ctx, beneath.Limits{Entries: names - u.Entries + 1, Depth: diskDepth, Workers: 1}, func(_ *beneath.Dir, _ string, entries []beneath.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range entries {
				if e.Kind != beneath.Directory && e.Nlink > 1 {
					key := [2]uint64{e.Dev, e.Ino}
					if linked[key] {
						continue
					}
					linked[key] = true
				}
				u.Bytes += e.Blocks * 512
			}
			return nil
		})
		if err != nil {
			return u, err
		}
		u.Entries += w.Entries
		u.Hidden += len(w.Findings) + w.Vanished
		if !w.Complete || u.Entries > names {
			u.More = true
			break
		}
	}
	u.Took = time.Since(began)
	return u, nil
}
