package credential

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"fumehood/isolate/testkit"
)

func TestMain(m *testing.M) {
	Dispatch()
	testkit.Parts(map[string]func(){"starter": starter, "confined": confined})
	os.Exit(m.Run())
}

// starter starts a keeper, has it run a command, and says its pid.
func starter() {
	k, err := StartKeeper(Config{
		Sources: map[string]string{"slow": "command:" + os.Getenv("SLOW")}, Home: "/", Path: os.Getenv("PATH"),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := k.conn.Send(ask{ID: 1, Name: "slow"}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(k.cmd.Process.Pid)
	select {}
}

// confined starts a keeper, takes everything from itself as a supervisor does,
// and more, and asks.
func confined() {
	k, err := StartKeeper(Config{
		Sources: map[string]string{"file": "file:" + os.Getenv("TOKEN"), "command": "command:" + os.Getenv("PROGRAM")}, Home: "/", Path: os.Getenv("PATH"),
	})
	if err == nil {
		err = landlock.Config{HandledAccessFS: ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile}.Restrict()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = os.ReadFile(os.Getenv("TOKEN"))
	fmt.Println("read:", os.IsPermission(err))
	fmt.Println("exec:", os.IsPermission(exec.Command(os.Getenv("PROGRAM")).Run()))
	for _, name := range []string{"file", "command"} {
		s, err := k.Secret(context.Background(), name)
		fmt.Println(name, s, err)
	}
	k.Close()
}
