package main

import (
	"context"
	"strings"
)

// comparison replays recordings against two servers.
type comparison struct {
	original, ours *server
	report         *report
	store          string // where the original keeps its objects: memory or etcd
}

func (c *comparison) servers() []*server { return []*server{c.original, c.ours} }

// replayAll replays each recording on empty servers, and leaves them empty.
func (c *comparison) replayAll(ctx context.Context, recordings []recording) error {
	for i, recorded := range recordings {
		for _, server := range c.servers() {
			if err := server.checkEmpty(ctx); err != nil {
				return err
			}
		}
		c.report.begin(recordingFiles[i])
		err := c.replay(ctx, recorded)
		for _, server := range c.servers() {
			// Also after an interrupt.
			if cleaned := server.clean(context.WithoutCancel(ctx)); err == nil {
				err = cleaned
			}
		}
		if err != nil {
			return err
		}
	}
	for _, server := range c.servers() {
		lines, err := server.remains(ctx)
		if err != nil {
			return err
		}
		c.report.notes(lines)
	}
	return nil
}

func (c *comparison) replay(ctx context.Context, recorded recording) error {
	for _, step := range recorded.Steps {
		original, err := c.original.perform(ctx, step)
		if err != nil {
			return err
		}
		ours, err := c.ours.perform(ctx, step)
		if err != nil {
			return err
		}
		if step.Method == "POST" && c.store != "etcd" {
			c.store = storeOf(original)
		}
		result := explain(step, c.store, original, ours)
		c.report.add(result)
		// A server that hangs would do so in each of the steps to come.
		switch {
		case ours.timedOut:
			return c.ours.hangs(step, ours)
		case original.timedOut && !result.explained:
			return c.original.hangs(step, original)
		}
	}
	return nil
}

func (s *server) hangs(step step, got answer) error {
	return s.errorf("hangs: %s %s: %s", step.Method, step.Path, got.Note)
}

// storeOf tells where the original keeps its objects, by its answer to a new
// task: only on etcd it has the environment (D24).
func storeOf(created answer) string {
	if strings.Contains(created.Body, `"SERVICE_HOST"`) {
		return "etcd"
	}
	return "memory"
}
