import { publicAccess } from '@warder/keys'
import { get, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { directoryAt, resourceReply, resourceRow } from './caller.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'

const pathParameters = Type.Object({ authority: Type.String() })

/** `GET …/directory`: the addresses of all resources (RFC 8555 §7.1.1, RFC 9773 §5). */
export function directoryOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    security: [],
    name: 'acme.directory',
    reach: ['reveal public'],
    route: get('/acme/{authority}/directory'),
    summary: 'Directory of the ACME resources',
    access: publicAccess,
    audited: false,
    pathParameters,
    errors: { 404: 'The authority is not open for ACME.' },
    async act(_input, { request }) {
      const { directory, urls } = await directoryAt(environment, request)
      const { termsOfService, website, externalAccountRequired, caaIdentities } = directory.settings
      return rawReply({
        json: {
          newNonce: urls.to('new-nonce'),
          newAccount: urls.to('new-account'),
          newOrder: urls.to('new-order'),
          revokeCert: urls.to('revoke-cert'),
          keyChange: urls.to('key-change'),
          renewalInfo: urls.to('renewal-info'),
          meta: {
            externalAccountRequired,
            ...(caaIdentities !== undefined && caaIdentities.length > 0 && { caaIdentities }),
            ...(termsOfService !== undefined && { termsOfService }),
            ...(website !== undefined && { website }),
          },
        },
      })
    },
  })
}

/** `HEAD` and `GET …/new-nonce` (RFC 8555 §7.2). */
export function newNonceOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    security: [],
    name: 'acme.new_nonce',
    reach: [],
    route: get('/acme/{authority}/new-nonce'),
    summary: 'Get a nonce for the next request',
    access: publicAccess,
    audited: false,
    status: 204,
    pathParameters,
    errors: { 404: 'The authority is not open for ACME.' },
    async act(_input, { request }) {
      const { urls } = await directoryAt(environment, request)
      return resourceReply(environment, urls, { status: request.method === 'HEAD' ? 200 : 204 })
    },
  })
}
