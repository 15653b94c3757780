package registry

import (
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/conversion"
)

// encodedTaskStorage is the storage over a registry that keeps its tasks as
// JSON.
type encodedTaskStorage struct {
	*TaskRegistryStorage
	encoder TaskEncoder
}

var _ apiserver.EncodedStorage = (*encodedTaskStorage)(nil)

// ListEncoded returns an api.TaskList.
func (storage *encodedTaskStorage) ListEncoded(u *url.URL) (conversion.Encoded, error) {
	query, err := labelQuery(u)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return storage.encoder.EncodedTasks(query)
}

// GetEncoded returns an api.Task. If its kubelet answers, the task is decoded,
// and encoded again with the answer.
func (storage *encodedTaskStorage) GetEncoded(id string) (conversion.Encoded, error) {
	if err := api.ValidateID(id); err != nil {
		return conversion.Encoded{}, err
	}
	encoded, machine, err := storage.encoder.EncodedTask(id)
	if err != nil {
		return conversion.Encoded{}, err
	}
	info := storage.info(machine, id)
	if info == nil {
		return encoded, nil
	}
	var task api.Task
	if err := v1beta1.Codec.Unmarshal(encoded.Bytes(), &task); err != nil {
		return conversion.Encoded{}, err
	}
	task.CurrentState.Info = info
	return v1beta1.Codec.Encode(task)
}
