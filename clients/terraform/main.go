// Program terraform-provider-leyden manages nodes of a Leyden platform, who may reach
// them, webhook endpoints and API keys, with Terraform or OpenTofu.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

const address = "leyden.invalid/leyden/leyden"

func main() {
	err := providerserver.Serve(
		context.Background(), newProvider, providerserver.ServeOpts{Address: address})
	if err != nil {
		log.Fatal(err)
	}
}
