// Package audit writes the audit log: a line of JSON for each stage of a request, at the level that a
// policy sets. The lines are events of audit.k8s.io/v1, as today's server writes them.
package audit

import (
	"encoding/json"
	"io"
	"log"
	"sync"
	"time"

	"golang.org/x/time/rate"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/util"
)

// Counters count events for metrics. They are safe for concurrent use.
type Counters interface {
	// Level counts a request at its level: None, Metadata, Request or RequestResponse.
	Level(level string)
	// Event counts an event before it is written.
	Event()
	// Error counts a lost event.
	Error()
}

type noCounters struct{}

func (noCounters) Level(string) {}
func (noCounters) Event()       {}
func (noCounters) Error()       {}

// complaintPeriod is the shortest time between two log lines about lost events.
const complaintPeriod = 10 * time.Second

// Auditor writes events. It is safe for concurrent use.
type Auditor struct {
	// Counters must be set before the first request.
	Counters Counters

	policy func() *Policy

	mu        sync.Mutex // guards what follows
	out       io.Writer
	torn      bool // the last line was written in part
	lost      int  // events since the last log line
	complaint rate.Sometimes
}

// New returns an auditor with a policy. An event that cannot be written is lost: it is counted and
// logged, and fails no request.
func New(policy *Policy, out io.Writer) *Auditor {
	return newAuditor(func() *Policy { return policy }, out)
}

// FromFile returns an auditor with the policy of a file, which is read again when it changes. If the
// path is "", it writes the metadata of all requests. The error is that of the file.
func FromFile(path string, out io.Writer) (*Auditor, error) {
	if path == "" {
		return New(metadataOfAll, out), nil
	}
	policy, err := util.ReloadFile("the policy of -audit_policy_file", path, Read)
	if err != nil {
		return nil, err
	}
	return newAuditor(policy.Get, out), nil
}

func newAuditor(policy func() *Policy, out io.Writer) *Auditor {
	return &Auditor{Counters: noCounters{}, policy: policy, out: out, complaint: rate.Sometimes{First: 1, Interval: complaintPeriod}}
}

// write writes an event. It returns when the line is written, so that a request changes nothing
// before its first line.
func (a *Auditor) write(event *auditv1.Event) {
	a.Counters.Event()
	line, err := json.Marshal(event)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = a.writeLineLocked(append(line, '\n'))
	}
	if err == nil {
		return
	}
	a.Counters.Error()
	a.lost++
	a.complaint.Do(func() {
		log.Printf("%d audit events are lost: the last one could not be written: %s", a.lost, api.Printable(err.Error(), ' '))
		a.lost = 0
	})
}

// writeLineLocked writes a line. It first ends a line that was written in part.
func (a *Auditor) writeLineLocked(line []byte) error {
	if a.torn {
		line = append([]byte("\n"), line...)
	}
	written, err := a.out.Write(line)
	if written > 0 {
		a.torn = written < len(line)
	}
	return err
}
