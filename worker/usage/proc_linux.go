package usage

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc/PID/stat: Linux shows them in hundredths of a second on every
// architecture that Go supports.
const tick = 10 * time.Millisecond

// maxFile bounds what is read of a file in /proc or /sys.
const maxFile = 16 << 10

// read returns the processor time of a process and of the children that it waited for, and its largest memory; false if
// /proc does not tell.
func read(pid int) (cpu time.Duration, peakBytes int64, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat := text(dir + "/stat")
	// The name of the program stands in parentheses and may contain spaces.
	_, rest, found := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 15 {
		return 0, 0, false
	}
	// utime, stime, cutime and cstime are the fields 14 to 17; the first field here is the third.
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		cpu += time.Duration(n) * tick
	}
	return cpu, peakOf(text(dir + "/status")), true
}

// peakOf returns the largest memory in a status file, in bytes; 0 if it is missing.
func peakOf(status string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return max(0, n) << 10
		}
	}
	return 0
}

// Machine returns how many cores and how many bytes of memory this process and its children may use; 0 if unknown.
func Machine() (cores float64, memoryBytes int64) { return float64(runtime.GOMAXPROCS(0)), memory() }

// memory returns the smaller of the machine's memory and the limit of the container.
func memory() int64 {
	least := int64(0)
	limit := func(n int64, err error) {
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for line := range strings.Lines(text("/proc/meminfo")) {
		if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			limit(n<<10, err)
		}
	}
	limit(strconv.ParseInt(strings.TrimSpace(text("/sys/fs/cgroup/memory.max")), 10, 64))
	return least
}

// text returns the beginning of a small file; empty if it cannot be read.
func text(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxFile)
	n, _ := f.Read(b)
	return string(bytes.ToValidUTF8(b[:n], nil))
}
