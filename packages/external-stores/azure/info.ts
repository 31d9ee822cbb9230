import { version } from '@warder/base'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { apiVersion, RequestContext, recordContext, requireApiVersion } from './request.ts'
import type { EkmRoute } from './route.ts'

/** EKM Proxy API, Get proxy information. */
export function infoOperation(route: EkmRoute) {
  return define({
    ...route.common('info'),
    route: post(route.path('/info')),
    summary: 'Information about this proxy, for Azure Managed HSM',
    access: { name: 'azure pool', check: ({ query }) => requireApiVersion(query) },
    request: Type.Object({ request_context: RequestContext }),
    reply: Type.Object({
      api_version: Type.String(),
      proxy_vendor: Type.String(),
      proxy_name: Type.String(),
      ekm_vendor: Type.String(),
      ekm_product: Type.String(),
    }),
    act({ body }, context) {
      recordContext(context, body.request_context)
      const product = `Warder ${version}`
      return {
        api_version: apiVersion,
        proxy_vendor: 'Warder',
        proxy_name: product,
        ekm_vendor: 'Warder',
        ekm_product: product,
      }
    },
  })
}
