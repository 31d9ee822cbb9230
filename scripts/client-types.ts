import { authOperations } from '@warder/auth/testing'
import { systemClock } from '@warder/base'
import { clientTypes } from '@warder/client/generate'
import { kmsOperations } from '@warder/kms/testing'
import { type Operation, openApiDocument } from '@warder/server'
import { openSqlite } from '@warder/storage'

/** Aliases of operations, by address or method, for clients of other servers. */
const alternateForm = /^v1\.|\.put$/

/** Generates the types of `packages/client`, by path; `npm run docs` writes them. */
export function generateClientTypes(): Readonly<Record<string, string>> {
  const db = openSqlite({ path: ':memory:' })
  const kms = kmsOperations({ db, clock: systemClock, baseUrl: 'https://localhost' })
  return {
    'packages/client/api.gen.ts': generateTypes('key management service', kms),
    'packages/client/auth.gen.ts': generateTypes('authentication service', authOperations),
  }
}

function generateTypes<S>(service: string, operations: readonly Operation<S>[]): string {
  const place = { version: '0', serverUrl: 'https://localhost' }
  const document = openApiDocument({ title: `Warder ${service}`, ...place, operations })
  return clientTypes(document, service, (name) => !alternateForm.test(name))
}
