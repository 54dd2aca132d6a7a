package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type whitelistResource struct{ customers }

type whitelistModel struct {
	NodeID    types.String `tfsdk:"node_id"`
	Addresses types.Set    `tfsdk:"addresses"`
}

func (*whitelistResource) Metadata(
	_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse,
) {
	answer.TypeName = "leyden_whitelist"
}

func (*whitelistResource) Schema(
	_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse,
) {
	answer.Schema = schema.Schema{
		Description: "The IP addresses that may reach a node. One for each node.",
		Attributes: map[string]schema.Attribute{
			"node_id": schema.StringAttribute{
				Required:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Description:   "The node's id."},
			"addresses": schema.SetAttribute{
				Required: true, ElementType: types.StringType,
				Description: "IPv4 and IPv6 addresses and CIDR blocks, as the API shows " +
					"them. Empty: nobody can reach the node."},
		},
	}
}

func (r *whitelistResource) Create(
	ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse,
) {
	var model whitelistModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	answer.Diagnostics.Append(r.replace(ctx, model)...)
	if !answer.Diagnostics.HasError() {
		answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
	}
}

func (r *whitelistResource) Update(
	ctx context.Context, request resource.UpdateRequest, answer *resource.UpdateResponse,
) {
	var model whitelistModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	answer.Diagnostics.Append(r.replace(ctx, model)...)
	if !answer.Diagnostics.HasError() {
		answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
	}
}

func (r *whitelistResource) replace(ctx context.Context, model whitelistModel) diag.Diagnostics {
	addresses := []string{}
	found := model.Addresses.ElementsAs(ctx, &addresses, false)
	if found.HasError() {
		return found
	}
	body := map[string]any{"whitelist": addresses}
	err := r.customer.call(ctx, "POST", r.node(model.NodeID)+"/whitelist", body, nil)
	if err != nil {
		found.AddAttributeError(path.Root("addresses"), "The addresses were not changed", err.Error())
	}
	return found
}

func (r *whitelistResource) Read(
	ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse,
) {
	var model whitelistModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	var shown struct {
		Settings struct {
			Whitelist []string `json:"whitelist"`
		} `json:"settings"`
	}
	err := r.customer.call(ctx, "GET", r.node(model.NodeID), nil, &shown)
	if isMissing(err) {
		answer.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		answer.Diagnostics.AddError("The node is not known", err.Error())
		return
	}
	addresses, found := types.SetValueFrom(ctx, types.StringType, shown.Settings.Whitelist)
	answer.Diagnostics.Append(found...)
	model.Addresses = addresses
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

// Delete leaves nobody in.
func (r *whitelistResource) Delete(
	ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse,
) {
	var model whitelistModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	body := map[string]any{"whitelist": []string{}}
	err := r.customer.call(ctx, "POST", r.node(model.NodeID)+"/whitelist", body, nil)
	if err != nil && !isMissing(err) {
		answer.Diagnostics.AddError("The addresses were not removed", err.Error())
	}
}

func (*whitelistResource) ImportState(
	ctx context.Context, request resource.ImportStateRequest, answer *resource.ImportStateResponse,
) {
	resource.ImportStatePassthroughID(ctx, path.Root("node_id"), request, answer)
}
