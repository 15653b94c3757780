package endpoints

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/rest"
)

func (r *call) get() error {
	storage, err := is[rest.Getter](r)
	if err != nil {
		return err
	}
	answer, err := storage.Get(r.Context(), r.key())
	if err != nil {
		return err
	}
	return r.respond(http.StatusOK, answer)
}

func (r *call) list() error {
	storage, err := is[rest.Lister](r)
	if err != nil {
		return err
	}
	options, err := r.listOptions()
	if err != nil {
		return err
	}
	list, err := storage.List(r.Context(), r.info.Namespace, options)
	if err != nil {
		return err
	}
	return r.respondList(list)
}

func (r *call) create() error {
	storage, err := is[rest.Creater](r)
	if err != nil || (r.info.Name != "" && r.info.Subresource == "") || (r.resource.Namespaced && r.info.Namespace == "") {
		return notAllowed()
	}
	options, err := r.createOptions()
	if err != nil {
		return err
	}
	object := storage.New()
	if err := r.decodeBody(object); err != nil {
		return err
	}
	answer, err := storage.Create(r.Context(), r.key(), object, len(options.DryRun) > 0)
	if err != nil {
		return err
	}
	return r.respond(http.StatusCreated, answer)
}

func (r *call) update() error {
	storage, err := is[rest.Updater](r)
	if err != nil || r.info.Name == "" {
		return notAllowed()
	}
	options, err := r.updateOptions()
	if err != nil {
		return err
	}
	object := storage.New()
	if err := r.decodeBody(object); err != nil {
		return err
	}
	if err := r.agreeOnName(object); err != nil {
		return err
	}
	answer, created, err := storage.Update(r.Context(), r.key(), func(rest.Object) (rest.Object, error) {
		return object.DeepCopyObject().(rest.Object), nil
	}, len(options.DryRun) > 0)
	if err != nil {
		return err
	}
	if created {
		return r.respond(http.StatusCreated, answer)
	}
	return r.respond(http.StatusOK, answer)
}

// agreeOnName refuses an object of another name or namespace than the path says. A
// namespace means nothing where there is none in the path.
func (r *call) agreeOnName(object rest.Object) error {
	switch name, namespace := object.GetName(), object.GetNamespace(); {
	case namespace != "" && r.info.Namespace != "" && namespace != r.info.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case name == "":
		return apierrors.NewBadRequest("the name of the object (" + r.info.Name + " based on URL) was undeterminable: name must be provided")
	case name != r.info.Name:
		return apierrors.NewBadRequest("the name of the object (" + name + ") does not match the name on the URL (" + r.info.Name + ")")
	}
	return nil
}

func (r *call) delete() error {
	storage, err := is[rest.Deleter](r)
	if err != nil {
		return err
	}
	options, err := r.deleteOptions()
	if err != nil {
		return err
	}
	answer, err := storage.Delete(r.Context(), r.key(), options)
	if err != nil {
		return err
	}
	return r.respond(http.StatusOK, answer)
}

func (r *call) deleteCollection() error {
	storage, err := is[rest.CollectionDeleter](r)
	if err != nil || (r.resource.Namespaced && r.info.Namespace == "") {
		return notAllowed()
	}
	listed, err := r.listOptions()
	if err != nil {
		return err
	}
	options, err := r.deleteOptions()
	if err != nil {
		return err
	}
	list, err := storage.DeleteCollection(r.Context(), r.info.Namespace, listed, options)
	if err != nil {
		return err
	}
	return r.respondList(list)
}
