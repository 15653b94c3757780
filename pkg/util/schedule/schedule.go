// Package schedule reads the schedules of cron jobs.
package schedule

import (
	"fmt"
	_ "time/tzdata" // machines may have no files of time zones

	"github.com/robfig/cron/v3"
)

// Parse reads a schedule like "*/5 * * * *" or "@every 1h". It may begin with a time zone, like "TZ=Europe/Berlin ".
func Parse(text string) (schedule cron.Schedule, err error) {
	defer func() {
		if reason := recover(); reason != nil { // the parser panics on some
			err = fmt.Errorf("invalid schedule format: %v", reason)
		}
	}()
	return cron.ParseStandard(text)
}
