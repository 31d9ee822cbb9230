import { failure } from '@warder/base'
import {
  asObjectId,
  findObject,
  type Right,
  requireAllowed,
  requirePrincipal,
  signedIn,
  verdictOn,
} from '@warder/keys'
import { type AuditFields, del, get, type Operation, type OperationContext, put } from '@warder/server'
import { GuardFailed, UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { findAuthority } from '../authority.ts'
import {
  closeDirectory,
  type Directory,
  type DirectorySettings,
  findDirectory,
  openDirectory,
} from './directory-store.ts'
import { type AcmeEnvironment, type AcmeServices, AcmeUrls, define } from './environment.ts'
import { challengeTypes } from './identifiers.ts'

/** Common part of the operations with which signed-in users manage ACME. */
export const managementRow = {
  tag: 'PKI',
  access: signedIn,
  errors: {
    403: 'The caller lacks the required right on the authority.',
    404: 'The caller has no right on such an authority.',
  },
} as const

type Context = OperationContext<AcmeServices>

/** The authority, if the caller has the right on its certificate. @throws not_found, forbidden */
export async function requireAuthority(context: Context, id: string, right: Right): Promise<void> {
  context.audit({ object: id })
  const { db, roles } = context.services
  const known = asObjectId(id)
  const object = known === undefined ? undefined : await findObject(db, known)
  const authority = object && (await findAuthority(db, object.id))
  if (object === undefined || authority === undefined) throw failure('not_found', 'Authority not found.')
  const audit = (fields: AuditFields) => context.audit(fields)
  requireAllowed(await verdictOn(db, roles, object, requirePrincipal(context), right, audit))
}

/** @throws not_found */
export async function requireOpen({ services }: Context, id: string): Promise<Directory> {
  const directory = await findDirectory(services.db, id)
  if (directory === undefined) throw failure('not_found', 'The authority is not open for ACME.')
  return directory
}

/** @throws conflict when another request changed it first */
export async function orConflict(commit: Promise<unknown>): Promise<void> {
  try {
    await commit
  } catch (error) {
    if (error instanceof GuardFailed || error instanceof UniqueViolation)
      throw failure('conflict', undefined, { cause: error })
    throw error
  }
}

/** @throws not_found when the guard requires the row to exist */
export async function orNotFound(commit: Promise<unknown>, sentence: string): Promise<void> {
  try {
    await commit
  } catch (error) {
    if (error instanceof GuardFailed) throw failure('not_found', sentence)
    throw error
  }
}

const defaultSettings: DirectorySettings = {
  profile: 'server',
  days: 90,
  externalAccountRequired: true,
  challenges: challengeTypes,
  ordersPerHour: 300,
}

const HttpsUrl = Type.String({ pattern: '^https://[!-~]+$', maxLength: 2048 })
const Settings = Type.Object({
  profile: Type.Optional(Type.Union([Type.Literal('server'), Type.Literal('client')])),
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: 825, description: 'Validity of certificates.' })),
  external_account_required: Type.Optional(
    Type.Boolean({ description: 'Whether accounts require an external account binding (default true).' }),
  ),
  challenges: Type.Optional(
    Type.Array(Type.Union([Type.Literal('http-01'), Type.Literal('dns-01'), Type.Literal('tls-alpn-01')]), {
      minItems: 1,
      maxItems: 3,
    }),
  ),
  orders_per_hour: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
  caa_identities: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z0-9-]{1,63}([.][A-Za-z0-9-]{1,63})+$', maxLength: 253 }), {
      maxItems: 8,
      description:
        'Names of the authority in CAA records (RFC 8659). With at least one, the CAA records of DNS names are checked before a certificate is issued.',
    }),
  ),
  terms_of_service: Type.Optional(HttpsUrl),
  website: Type.Optional(HttpsUrl),
})
const DirectoryReply = Type.Object({
  directory: Type.String({ description: 'Address of the directory for clients.' }),
  profile: Type.String(),
  days: Type.Integer(),
  external_account_required: Type.Boolean(),
  challenges: Type.Array(Type.String()),
  orders_per_hour: Type.Integer(),
  caa_identities: Type.Optional(Type.Array(Type.String())),
  terms_of_service: Type.Optional(Type.String()),
  website: Type.Optional(Type.String()),
})
const path = Type.Object({ id: Type.String() })

function withSettings(body: Static<typeof Settings>): DirectorySettings {
  const given = {
    profile: body.profile,
    days: body.days,
    externalAccountRequired: body.external_account_required,
    challenges: body.challenges && challengeTypes.filter((type) => body.challenges?.includes(type)),
    ordersPerHour: body.orders_per_hour,
    caaIdentities: body.caa_identities?.map((name) => name.toLowerCase()),
    termsOfService: body.terms_of_service,
    website: body.website,
  }
  return {
    ...defaultSettings,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
}

function directoryReply({ baseUrl }: AcmeEnvironment, id: string, settings: DirectorySettings) {
  const { profile, days, externalAccountRequired, challenges, ordersPerHour } = settings
  const { caaIdentities, termsOfService, website } = settings
  return {
    directory: new AcmeUrls(baseUrl, id).directory,
    profile,
    days,
    external_account_required: externalAccountRequired,
    challenges,
    orders_per_hour: ordersPerHour,
    ...(caaIdentities !== undefined && { caa_identities: [...caaIdentities] }),
    ...(termsOfService !== undefined && { terms_of_service: termsOfService }),
    ...(website !== undefined && { website }),
  }
}

/** Operations that open and close authorities for ACME. They require rights on the certificate of the authority. */
export function directoryManagement(environment: AcmeEnvironment): readonly Operation<AcmeServices>[] {
  const open = define({
    ...managementRow,
    name: 'pki.acme.open',
    reach: ['change settings'],
    asks: ['authorize'],
    route: put('/v1/pki/authorities/{id}/acme'),
    summary: 'Open an authority for ACME, or change its ACME settings',
    description:
      'Requires the right authorize on the certificate of the authority. Absent members have their defaults.',
    pathParameters: path,
    request: Settings,
    reply: DirectoryReply,
    errors: { ...managementRow.errors, 409: 'Changed concurrently by another request.' },
    async act({ path: { id }, body }, context) {
      await requireAuthority(context, id, 'authorize')
      const { db, clock } = context.services
      const settings = withSettings(body)
      const openedBy = requirePrincipal(context).name
      const before = await findDirectory(db, id)
      const made = { authorityId: id, settings, openedBy, createdAt: clock.now() }
      context.audit({ details: { ...settings } })
      await orConflict(context.commit([openDirectory(made, before)]))
      return directoryReply(environment, id, settings)
    },
  })
  const show = define({
    ...managementRow,
    name: 'pki.acme.show',
    reach: ['reveal attributes'],
    asks: ['certify'],
    route: get('/v1/pki/authorities/{id}/acme'),
    summary: 'ACME settings of an authority',
    pathParameters: path,
    reply: DirectoryReply,
    async act({ path: { id } }, context) {
      await requireAuthority(context, id, 'certify')
      const { settings } = await requireOpen(context, id)
      return directoryReply(environment, id, settings)
    },
  })
  const close = define({
    ...managementRow,
    name: 'pki.acme.close',
    reach: ['change settings'],
    asks: ['authorize'],
    route: del('/v1/pki/authorities/{id}/acme'),
    summary: 'Close an authority for ACME',
    description: 'Requests of its accounts are refused until it is opened again. Certificates stay valid.',
    pathParameters: path,
    status: 204,
    async act({ path: { id } }, context) {
      await requireAuthority(context, id, 'authorize')
      await requireOpen(context, id)
      await orConflict(context.commit([closeDirectory(id)]))
    },
  })
  return [open, show, close]
}
