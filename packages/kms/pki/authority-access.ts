import { findAuthority, type StoredAuthority } from '@warder/authority'
import { failure } from '@warder/base'
import { keyRight, type Resolved, type Right, requireCreate } from '@warder/keys'
import type { Access } from '@warder/server'
import type { PkiServices } from './services.ts'

/** Requires the right on the certificate of the authority in the path. */
export function authorityRight(right: Right) {
  return keyRight<PkiServices, string>(right, {
    read: ({ path: { id } }) => id ?? '',
    kid: (id) => id,
  })
}

/** Also requires the right to create objects. */
export function withCreate(access: Access<PkiServices>): Access<PkiServices> {
  return {
    name: `${access.name}, and create objects`,
    async check(input, context) {
      await access.check?.(input, context)
      await requireCreate(context)
    },
  }
}

/** @throws failure('not_found') for a certificate that is not that of a local authority */
export async function requireAuthority(
  { db }: Pick<PkiServices, 'db'>,
  { key }: Resolved<string>,
): Promise<StoredAuthority> {
  const found = await findAuthority(db, key.object.id)
  if (found === undefined)
    throw failure('not_found', 'The certificate is not that of an authority of this service.')
  return found
}
