package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns how long all cores together have worked for the server.
func (s Server) CPUTime() (time.Duration, error) { return cpuTime(s.PID) }

// tick is the unit of the times in /proc.
const tick = 10 * time.Millisecond

func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name of the program may contain anything
	all := time.Duration(0)
	for _, field := range strings.Fields(rest)[11:13] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		all += time.Duration(ticks) * tick
	}
	return all, nil
}
