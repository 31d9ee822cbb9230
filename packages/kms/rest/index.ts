import { documentationOperations, healthOperation } from '@warder/foundation/http'
import { type Operation, openApiDocument } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import { version } from '../version.ts'
import { accessQueries } from './access-queries.ts'
import { batchOperation } from './batch.ts'
import { createKey } from './create-key.ts'
import { decrypt } from './decrypt.ts'
import { deleteKey } from './delete-key.ts'
import { encrypt } from './encrypt.ts'
import { getKey } from './get-key.ts'
import { grantOperations } from './grants.ts'
import { jwks } from './jwks.ts'
import { tagOperations } from './key-tags.ts'
import { mac } from './mac.ts'
import type { KmsServices } from './services.ts'
import { sign } from './sign.ts'
import { systemOperations } from './system.ts'
import { uiOperations } from './ui-session.ts'
import { unwrapKey } from './unwrap-key.ts'
import { verify } from './verify.ts'

export type { KmsServices } from './services.ts'

export interface OperationsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly baseUrl: string
}

/** Every operation of the service over HTTP, with the documents that describe them. */
export function kmsOperations({ db, clock, baseUrl }: OperationsOptions): readonly Operation<KmsServices>[] {
  const operations = [
    healthOperation<KmsServices>({ databaseName: db.dialect, ping: () => db.ping(), clock }),
    ...systemOperations,
    jwks,
    createKey,
    getKey,
    deleteKey,
    unwrapKey,
    encrypt,
    decrypt,
    sign,
    verify,
    mac,
    batchOperation({ encrypt, decrypt, sign, verify, mac }),
    ...tagOperations,
    ...grantOperations,
    ...accessQueries,
    ...uiOperations,
  ]
  const document = openApiDocument({
    title: 'Warder key management service',
    version,
    serverUrl: baseUrl,
    operations,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer' },
      secretToken: { type: 'apiKey', in: 'header', name: 'X-Secret-Token' },
      certificate: { type: 'mutualTLS' },
    },
  })
  return [...operations, ...documentationOperations<KmsServices>({ document })]
}
