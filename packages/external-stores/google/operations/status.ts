import { failure, version } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { get } from '@warder/server'
import Type from 'typebox'
import { define, type ExternalStoreServices } from '../../scope/services.ts'
import { publishKey } from '../keys/signing-key.ts'
import { requireWrappingKey } from '../keys/wrapping-key.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { common, path } from './common.ts'

const operationsSupported = [
  'wrap',
  'unwrap',
  'digest',
  'rewrap',
  'privilegedwrap',
  'privilegedunwrap',
  'privatekeysign',
  'privatekeydecrypt',
  'privilegedprivatekeydecrypt',
  'wrapprivatekey',
  'delegate',
] as const

/** `GET /google_cse/status`: fails while the wrapping key or the signing key cannot be used. */
export const status = (scope: GoogleScope) =>
  define({
    name: 'google_cse.status',
    route: get(path('status')),
    summary: 'Status of the key service and its keys',
    tag: common.tag,
    access: publicAccess,
    audited: false,
    reply: Type.Object({
      name: Type.String(),
      vendor_id: Type.String(),
      version: Type.String(),
      server_type: Type.String(),
      operations_supported: Type.Array(Type.String()),
    }),
    async act(_input, { services }) {
      await requireUsable(services, scope)
      return {
        name: scope.name,
        vendor_id: 'Warder',
        version,
        server_type: 'KACLS',
        operations_supported: [...operationsSupported],
      }
    },
  })

async function requireUsable(
  services: ExternalStoreServices,
  { wrappingKey, signingKey }: GoogleScope,
): Promise<void> {
  try {
    await requireWrappingKey(services, wrappingKey)
    await publishKey(services, signingKey)
  } catch (cause) {
    throw failure('internal_error', 'a key of the scope cannot be used', { cause })
  }
}

/** `GET /google_cse/certs`: where other key services find the key of this one's tokens. */
export const certs = (scope: GoogleScope) =>
  define({
    name: 'google_cse.certs',
    route: get(path('certs')),
    summary: 'Public keys of the tokens that this key service signs',
    tag: common.tag,
    access: publicAccess,
    audited: false,
    reply: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
    act: async (_input, { services }) => ({ keys: [await publishKey(services, scope.signingKey)] }),
  })
