import { type AcmeEnvironment, type AcmeServices, acmeOperations } from '@warder/authority'
import { type Clock, failure, version } from '@warder/base'
import { consoleOperations, type Logins } from '@warder/console'
import {
  describeExternalOperations,
  type ExternalConfig,
  type ExternalEnvironment,
  type ExternalStoreServices,
  externalOperations,
  externalSecuritySchemes,
} from '@warder/external-stores'
import {
  authProxyRoutes,
  type Credential,
  type Forward,
  identitySchemes,
  listSchemes,
  sessionCookieName,
} from '@warder/identity'
import { deviceOperations, type KmipEngine, type KmipServices, kmipRoutes } from '@warder/kmip-server'
import { authorityOperation, nodeProofHeader, readableDatabase } from '@warder/runtime'
import {
  documentationOperations,
  type HealthPart,
  healthOperation,
  type Operation,
  type OperationContext,
  openApiDocument,
  unsealOperation,
} from '@warder/server'
import type { Database } from '@warder/storage'
import { type TransitServices, transitOperations } from '@warder/transit'
import { officerOperations } from '../officers/officer-operations.ts'
import type { OfficerServices } from '../officers/services.ts'
import { pkiOperations } from '../pki/pki-operations.ts'
import type { PkiServices } from '../pki/services.ts'
import { restOperations, withoutData } from '../rest/rest-operations.ts'
import type { RestServices } from '../rest/services.ts'
import { describedAcme } from './acme.ts'

/** Services of one worker: those that the front ends declare, together. A front end sees no more than it declares. */
export interface KmsServices
  extends TransitServices,
    ExternalStoreServices,
    AcmeServices,
    PkiServices,
    OfficerServices,
    KmipServices,
    RestServices {}

interface OperationsOptions {
  readonly db: Database
  readonly clock: Clock
  readonly baseUrl: string
  /** Parts that `/health` checks; default: that the database answers. */
  readonly health?: readonly HealthPart[] | undefined
  /** Absent if the operations are only described. */
  readonly kmip?: KmipEngine
  /** true: `/kmip/3_0` is served. */
  readonly kmipDraft?: boolean
  /** Absent: `/v1/auth/…` is not passed on. */
  readonly authProxy?: Forward | undefined
  /** true: `/v1/transit/…` is served. */
  readonly transit?: boolean
  /** Environment of external key stores. `described`: all of them, to be described; absent: none. */
  readonly external?: ExternalEnvironment<ExternalConfig> | 'described'
  /** Absent if the operations are only described. */
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
  kmipDraft = false,
  authProxy,
  transit = false,
  external,
  acme = describedAcme(db, clock),
  credentials,
}: OperationsOptions): readonly Operation<KmsServices>[] {
  const operations = [
    ...withoutData(healthOperation<KmsServices>({ parts: health, clock }), unsealOperation<KmsServices>()),
    ...restOperations,
    ...withoutData(
      ...consoleOperations<KmsServices>({
        service: 'kms',
        other: ({ services }) => services.authPublicUrl,
        authority: async ({ services }) => (await services.localAuthority())?.sha256,
        logins: listLogins,
        sessionCookie: sessionCookieName,
      }),
      authorityOperation<KmsServices>(),
    ),
    ...pkiOperations,
    ...acmeOperations(acme),
    ...kmipRoutes(kmip, kmipDraft),
    ...deviceOperations,
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
        auditNode: { type: 'apiKey', in: 'header', name: nodeProofHeader },
      },
      service: listSchemes(credentials),
    },
  })
  return [...operations, ...withoutData(...documentationOperations<KmsServices>({ document }))]
}

/** Ways to log in for the page. Realms are missing while the authentication service does not respond: they can be typed. */
async function listLogins({ services, request, log }: OperationContext<KmsServices>): Promise<Logins> {
  const { handoverLogin, passwordLogin, samlLogin, oidcLogin } = services
  const ways: Logins['ways'] = [
    ...(handoverLogin === undefined ? [] : (['handover'] as const)),
    ...(passwordLogin === undefined ? [] : (['password'] as const)),
    ...(samlLogin === undefined ? [] : (['saml'] as const)),
    ...(oidcLogin === undefined ? [] : (['openid'] as const)),
  ]
  try {
    return { ways, realms: (await samlLogin?.realms(request.clientAddress)) ?? [] }
  } catch (error) {
    log.warn({ detail: String(error) }, 'the realms of the authentication service cannot be read')
    return { ways, realms: [] }
  }
}
