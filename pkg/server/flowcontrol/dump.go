package flowcontrol

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/server/request"
	"kube2014/pkg/util/fairqueuing"
)

// DebugPath is before the paths of the handlers.
const DebugPath = "/debug/api_priority_and_fairness/"

// Handlers returns handlers that show what the levels are doing, in the form of today's server, by their paths.
func (c *Control) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		DebugPath + "dump_priority_levels": table(func(*http.Request) [][]string { return levelRows(c.Details()) }),
		DebugPath + "dump_queues":          table(func(*http.Request) [][]string { return queueRows(c.Details()) }),
		DebugPath + "dump_requests": table(func(req *http.Request) [][]string {
			return requestRows(c.Details(), req.URL.Query().Get("includeRequestDetails") != "")
		}),
	}
}

// table serves rows whose columns are aligned.
func table(rows func(*http.Request) [][]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		out := tabwriter.NewWriter(w, 8, 0, 1, ' ', 0)
		for _, row := range rows(req) {
			_, _ = fmt.Fprintln(out, strings.Join(row, ",\t")) // as below
		}
		_ = out.Flush() // a client that has gone needs nothing
	})
}

func levelRows(levels []fairqueuing.LevelState) [][]string {
	rows := [][]string{{"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"}}
	for _, l := range levels {
		active := 0
		for _, q := range l.Queues {
			if q.Waiting > 0 {
				active++
			}
		}
		isIdle := len(l.Waiting) == 0 && len(l.Executing) == 0
		rows = append(rows, append([]string{l.Name, strconv.Itoa(active), strconv.FormatBool(isIdle), strconv.FormatBool(l.Retired)},
			numbers(len(l.Waiting), len(l.Executing), l.Dispatched, l.Rejected, 0, l.Cancelled)...)) // who waited too long has cancelled there
	}
	return rows
}

func numbers(all ...int) (texts []string) {
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return texts
}

func queueRows(levels []fairqueuing.LevelState) [][]string {
	rows := [][]string{{"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"}}
	for _, l := range levels {
		for i, q := range l.Queues {
			row := append([]string{l.Name}, numbers(i, q.Waiting, q.Executing, q.Seats)...)
			row = append(append(row, q.Next), numbers(q.InitialSeats, q.MostSeats)...)
			rows = append(rows, append(row, q.Work))
		}
	}
	return rows
}

func requestRows(levels []fairqueuing.LevelState, details bool) [][]string {
	head := []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}
	if details {
		head = append(head, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	rows := [][]string{head}
	for _, l := range levels {
		for _, r := range append(l.Waiting, l.Executing...) {
			row := []string{l.Name, r.Flow, strconv.Itoa(r.Queue), strconv.Itoa(r.Index), r.Distinguisher, r.Arrived.UTC().Format(time.RFC3339Nano),
				strconv.Itoa(r.Work.Seats), strconv.Itoa(r.Work.FinalSeats), r.Work.Linger.String(), r.Started.UTC().Format(time.RFC3339Nano)}
			if details {
				row = append(row, detailsOf(r.Details.(*request.Record))...)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func detailsOf(r *request.Record) []string {
	name := "system:unsecured"
	if r.User != nil {
		name = r.User.Name
	}
	i := &r.Info
	version := schema.GroupVersion{Group: i.APIGroup, Version: i.APIVersion}.String()
	return []string{name, i.Verb, i.Path, i.Namespace, i.Name, version, i.Resource, i.Subresource}
}
