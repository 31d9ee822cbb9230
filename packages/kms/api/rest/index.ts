import { failure } from '@warder/foundation/errors'
import { documentationOperations, type HealthPart, healthOperation } from '@warder/foundation/http'
import { type Operation, openApiDocument } from '@warder/foundation/operations'
import { type Clock, readableDatabase } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import type { KmsServices } from '../../services.ts'
import { version } from '../../version.ts'
import type { KmipEngine } from '../kmip/engine/index.ts'
import { kmipRoutes } from '../kmip/transport/routes.ts'
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
import { sign } from './sign.ts'
import { systemOperations } from './system.ts'
import { uiOperations } from './ui-session.ts'
import { unwrapKey } from './unwrap-key.ts'
import { verify } from './verify.ts'

export type { KmsServices } from '../../services.ts'

export interface OperationsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly baseUrl: string
  /** What `/health` tries; default: that the database answers. */
  readonly health?: readonly HealthPart[] | undefined
  /** Absent where the operations are only described. */
  readonly kmip?: KmipEngine
}

const nothing: KmipEngine = {
  answer() {
    throw failure('internal_error', 'the operations were made without a KMIP engine')
  },
}

/** Every operation of the service over HTTP, with the documents that describe them. */
export function kmsOperations({
  db,
  clock,
  baseUrl,
  health = [readableDatabase(db)],
  kmip = nothing,
}: OperationsOptions): readonly Operation<KmsServices>[] {
  const operations = [
    ...withoutData(healthOperation<KmsServices>({ parts: health, clock })),
    ...withoutData(...systemOperations, jwks, createKey, getKey, deleteKey, unwrapKey),
    encrypt,
    decrypt,
    sign,
    verify,
    mac,
    batchOperation({ encrypt, decrypt, sign, verify, mac }),
    ...withoutData(...tagOperations, ...grantOperations, ...accessQueries, ...uiOperations),
    ...kmipRoutes(kmip),
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
  return [...operations, ...withoutData(...documentationOperations<KmsServices>({ document }))]
}

/** Nothing but data of callers is as large as the service permits; a key with all of its members is not. */
const bodyLimit = 256 * 1024

function withoutData(...operations: readonly Operation<KmsServices>[]): readonly Operation<KmsServices>[] {
  return operations.map((operation) => ({ bodyLimit, ...operation }))
}
