import { authOperations } from '@warder/auth/operations'
import { clientTypes } from '@warder/client/generate'
import { type Operation, openApiDocument } from '@warder/foundation/operations'
import { systemClock } from '@warder/foundation/runtime'
import { openSqlite } from '@warder/foundation/sql'
import { kmsOperations } from '@warder/kms/operations'

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
