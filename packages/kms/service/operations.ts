import { failure } from '@warder/foundation/errors'
import { documentationOperations, type HealthPart, healthOperation } from '@warder/foundation/http'
import { type Operation, openApiDocument } from '@warder/foundation/operations'
import { type Clock, readableDatabase } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import { type AcmeEnvironment, acmeOperations } from '../api/acme/index.ts'
import { authProxyRoutes, type Forward } from '../api/auth-proxy/index.ts'
import {
  describeExternalOperations,
  type ExternalConfig,
  externalOperations,
  externalSecuritySchemes,
} from '../api/external/index.ts'
import type { ExternalEnvironment } from '../api/external/scope/index.ts'
import type { KmipEngine } from '../api/kmip/engine/index.ts'
import { kmipRoutes } from '../api/kmip/transport/routes.ts'
import { officerOperations } from '../api/officers/index.ts'
import { pkiOperations } from '../api/pki/index.ts'
import { restOperations, withoutData } from '../api/rest/index.ts'
import { transitOperations } from '../api/transit/index.ts'
import { type Credential, identitySchemes, listSchemes } from '../identity/index.ts'
import { version } from '../version.ts'
import { describedAcme } from './acme.ts'
import type { KmsServices } from './services.ts'

export interface OperationsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly baseUrl: string
  /** Parts that `/health` checks; default: that the database answers. */
  readonly health?: readonly HealthPart[] | undefined
  /** Absent where the operations are only described. */
  readonly kmip?: KmipEngine
  /** Absent: `/v1/auth/…` is not passed on. */
  readonly authProxy?: Forward | undefined
  /** true: `/v1/transit/…` is served. */
  readonly transit?: boolean
  /** Environment of external key stores. `described`: all of them, to be described; absent: none. */
  readonly external?: ExternalEnvironment<ExternalConfig> | 'described'
  /** Absent where the operations are only described. */
  readonly acme?: AcmeEnvironment
  /** Credentials that the settings accept. Absent if the operations are only described: all. */
  readonly credentials?: ReadonlySet<Credential>
}

const nothing: KmipEngine = {
  unfinished: 0,
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
  authProxy,
  transit = false,
  external,
  acme = describedAcme(db, clock),
  credentials,
}: OperationsOptions): readonly Operation<KmsServices>[] {
  const operations = [
    ...withoutData(healthOperation<KmsServices>({ parts: health, clock })),
    ...restOperations,
    ...pkiOperations,
    ...acmeOperations(acme),
    ...kmipRoutes(kmip),
    ...withoutData(...officerOperations),
    ...(transit ? transitOperations(baseUrl) : []),
    ...(authProxy === undefined ? [] : authProxyRoutes(authProxy)),
    ...(external === 'described'
      ? describeExternalOperations({ db, clock, baseUrl })
      : external === undefined
        ? []
        : externalOperations(external)),
  ]
  const document = openApiDocument({
    title: 'Warder key management service',
    version,
    serverUrl: baseUrl,
    operations,
    credentials: {
      schemes: {
        ...identitySchemes,
        ...externalSecuritySchemes,
        acme: { type: 'http', scheme: 'JWS (RFC 8555)' },
      },
      service: listSchemes(credentials),
    },
  })
  return [...operations, ...withoutData(...documentationOperations<KmsServices>({ document }))]
}
