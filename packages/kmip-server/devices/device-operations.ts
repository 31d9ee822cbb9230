import { findAuthority } from '@warder/authority'
import { type Clock, failure, isName } from '@warder/base'
import {
  type AccessServices,
  type Blocks,
  isGovernor,
  officerAccess,
  requirePrincipal,
  signedIn,
} from '@warder/keys'
import { nameText, parseCertificate } from '@warder/pki'
import { defineOperation, get, type Operation, type OperationContext, pageReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import type { ClientIssuers } from './client-issuers.ts'
import {
  countOwnedKeys,
  type DeviceRow,
  type ListedCertificate,
  listDeviceCertificates,
  listDevices,
  maxCounted,
} from './device-store.ts'
import type { DeviceSightings } from './sightings.ts'

/** Services that devices need. */
export interface DeviceServices extends AccessServices {
  readonly clock: Clock
  readonly defaultUsername: string
  readonly blocks: Blocks
  /** When devices were seen, and what they speak. */
  readonly sightings: DeviceSightings
  /** Authorities of this service whose client certificates it accepts. */
  readonly clientIssuers: ClientIssuers
}

const define = defineOperation<DeviceServices>()
type Context = OperationContext<DeviceServices>

const defaultLimit = 100
const maxLimit = 1000
/** Devices of one query with a filter, and of one page: it ends after them, also with fewer rows. */
const rowsPerQuery = 1000
const maxScanned = 4000
const dayMs = 86_400_000
/** Certificates of a device in a list, and of one device. */
const maxOfList = 10
const maxOfDevice = 100

const states = ['valid', 'hold', 'revoked', 'expired'] as const
const sources = ['local', 'authority', 'presented'] as const

const Certificate = Type.Object({
  serial: Type.String({ description: 'Hexadecimal.' }),
  fingerprint: Type.String({ description: 'SHA-256, hexadecimal.' }),
  issuer: Type.Optional(Type.String({ description: 'RFC 4514.' })),
  not_before: Type.String({ description: 'RFC 3339, UTC.' }),
  not_after: Type.String({ description: 'RFC 3339, UTC.' }),
  state: Type.Enum([...states], {
    description: 'Revocations by authorities that are not of this installation are not known here.',
  }),
  revoked_at: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
  source: Type.Enum([...sources], {
    description:
      'local: the local authority issued it (`warder kmip certificate`); authority: one of `/v1/pki/authorities`; presented: another one.',
  }),
  id: Type.Optional(Type.String({ description: 'At `/v1/pki/certificates`.' })),
  authority: Type.Optional(Type.String({ description: 'At `/v1/pki/authorities`.' })),
})

const Device = Type.Object({
  name: Type.String({ description: 'The user that owns the objects of the device.' }),
  certificates: Type.Array(Certificate, { description: 'Those that end last come first.' }),
  ends_at: Type.Optional(
    Type.String({ description: 'End of the certificate that ends last and is not revoked.' }),
  ),
  last_seen: Type.Optional(
    Type.String({
      description: 'Last message, exact to about a minute; absent: none in the last 400 days. RFC 3339, UTC.',
    }),
  ),
  kmip_version: Type.Optional(Type.String({ description: 'Version of the protocol at that time.' })),
  encoding: Type.Optional(Type.String({ description: 'ttlv, json or xml.' })),
  keys: Type.Integer({
    description: `Objects that it owns, without earlier versions; ${maxCounted}: this number or more.`,
  }),
  blocked: Type.Boolean(),
})

const errors = { 403: 'Only crypto officers see other devices.' }

const list = define({
  name: 'kmip.devices.list',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/v1/kmip/devices'),
  summary: 'KMIP clients with a client certificate, in pages',
  description: `Users that connected with a client certificate, or that have one of the local authority or of an authority of this service in \`clients_ca_cert_file\`. For crypto officers (the default user if none are listed); other callers see their own entry. A page with a filter may have fewer entries than its limit, or none. With at most ${maxOfList} certificates each.`,
  tag: 'KMIP',
  access: signedIn,
  queryParameters: Type.Object({
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Substring of the name, case-insensitive.',
      }),
    ),
    expiring_days: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,4}$',
        description: 'Only devices whose `ends_at` is within this number of days, from 1 on.',
      }),
    ),
    after: Type.Optional(
      Type.String({ maxLength: 512, description: '`X-Next-After` of the previous page.' }),
    ),
    limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: '1 to 1000, default 100.' })),
  }),
  paged: true,
  reply: Type.Array(Device),
  async act({ query }, context) {
    const { services } = context
    const limit = query.limit === undefined ? defaultLimit : Number(query.limit)
    if (limit < 1 || limit > maxLimit) throw failure('bad_request', `limit must be 1 to ${maxLimit}.`)
    const matches = readFilter(query, services.clock.now())
    const { after = '' } = query
    if (after !== '' && !isName(after)) throw failure('bad_request', 'after must be X-Next-After of a page.')
    const principal = requirePrincipal(context)
    if (!(await isGovernor(services, principal))) {
      const own = await findDevice(services, principal.name)
      const rows = own !== undefined && matches(own) ? [own] : []
      return await describe(context, rows, maxOfList)
    }
    context.audit(officerAccess)
    const isFiltered = query.search !== undefined || query.expiring_days !== undefined
    const perQuery = isFiltered ? rowsPerQuery : limit + 2
    const { rows, next } = await scan(services, { after, limit, perQuery }, matches)
    return pageReply(await describe(context, rows, maxOfList), next)
  },
})

const read = define({
  name: 'kmip.devices.get',
  reach: ['reveal existence', 'reveal attributes'],
  route: get('/v1/kmip/devices/{name}'),
  summary: 'One KMIP client, with its certificates',
  description: `For crypto officers (the default user if none are listed), and for the device itself. With at most ${maxOfDevice} certificates.`,
  tag: 'KMIP',
  access: signedIn,
  pathParameters: Type.Object({ name: Type.String() }),
  reply: Device,
  errors: { ...errors, 404: 'No such device.' },
  async act({ path: { name } }, context) {
    const { services } = context
    context.audit({ object: name })
    if (!isName(name)) throw failure('bad_request', 'The name is not that of a user.')
    const principal = requirePrincipal(context)
    if (name !== principal.name) {
      if (!(await isGovernor(services, principal))) throw failure('forbidden', 'This is for crypto officers.')
      context.audit(officerAccess)
    }
    const found = await findDevice(services, name)
    const [device] = found === undefined ? [] : await describe(context, [found], maxOfDevice)
    if (device === undefined) throw failure('not_found', 'No such device.')
    return device
  },
})

export const deviceOperations: readonly Operation<DeviceServices>[] = [list, read]

/** @throws failure('bad_request') */
function readFilter(
  { search, expiring_days: days }: { readonly search?: string; readonly expiring_days?: string },
  now: number,
): (device: DeviceRow) => boolean {
  if (days !== undefined && Number(days) < 1)
    throw failure('bad_request', 'expiring_days must be at least 1.')
  const part = search?.toLowerCase()
  const before = days === undefined ? undefined : now + Number(days) * dayMs
  return ({ name, endsAt }) =>
    (part === undefined || name.toLowerCase().includes(part)) &&
    (before === undefined || (endsAt !== undefined && endsAt >= now && endsAt < before))
}

async function findDevice(
  { db, clientIssuers }: DeviceServices,
  name: string,
): Promise<DeviceRow | undefined> {
  const [device] = await listDevices(db, await clientIssuers(), name, 1)
  return device?.name === name ? device : undefined
}

interface Page {
  /** The last name of the page before; empty: the first page. */
  readonly after: string
  readonly limit: number
  /** Devices of one query. */
  readonly perQuery: number
}

async function scan(
  { db, clientIssuers }: DeviceServices,
  { after, limit, perQuery }: Page,
  matches: (device: DeviceRow) => boolean,
): Promise<{ readonly rows: readonly DeviceRow[]; readonly next: string | undefined }> {
  const issuers = await clientIssuers()
  const rows: DeviceRow[] = []
  let last = after
  for (let scanned = 0; scanned < maxScanned; ) {
    const following = (await listDevices(db, issuers, last, perQuery)).filter(({ name }) => name !== last)
    for (const device of following) {
      if (rows.length === limit) return { rows, next: last }
      last = device.name
      if (matches(device)) rows.push(device)
    }
    if (following.length === 0) return { rows, next: undefined }
    scanned += following.length
  }
  return { rows, next: last }
}

async function describe(
  context: Context,
  rows: readonly DeviceRow[],
  max: number,
): Promise<readonly Static<typeof Device>[]> {
  const { db, clock, clientIssuers, blocks } = context.services
  const names = rows.map(({ name }) => name)
  const certificates = await listDeviceCertificates(db, await clientIssuers(), names, max)
  const counts = await countOwnedKeys(db, names)
  const now = clock.now()
  /** Subjects of the authorities of these certificates. */
  const subjects = new Map<string, string | undefined>()
  for (const { authority } of [...certificates.values()].flat())
    if (authority !== undefined && !subjects.has(authority))
      subjects.set(authority, await readSubject(db, authority))
  const blocked = await Promise.all(names.map((name) => blocks.isBlocked(name)))
  return rows.map(({ name, seenAt, version, encoding, endsAt }, index) => ({
    name,
    certificates: (certificates.get(name) ?? []).map((each) => formatCertificate(each, subjects, now)),
    ...(endsAt !== undefined && { ends_at: formatTime(endsAt) }),
    ...(seenAt !== undefined && { last_seen: formatTime(seenAt) }),
    ...(version !== undefined && { kmip_version: version }),
    ...(encoding !== undefined && { encoding }),
    keys: counts.get(name) ?? 0,
    blocked: blocked[index] === true,
  }))
}

async function readSubject(db: DeviceServices['db'], authority: string): Promise<string | undefined> {
  const found = await findAuthority(db, authority)
  return found && nameText(parseCertificate(found.certificate).subject)
}

function formatCertificate(
  certificate: ListedCertificate,
  subjects: ReadonlyMap<string, string | undefined>,
  now: number,
): Static<typeof Certificate> {
  const { serial, fingerprint, notBefore, notAfter, isLocal, revokedAt, reason } = certificate
  const { certificateId, authority } = certificate
  const issuer = certificate.issuer ?? (authority && subjects.get(authority))
  const revoked = reason === 'certificateHold' ? 'hold' : 'revoked'
  const dated = now > notAfter ? 'expired' : 'valid'
  const named = authority === undefined ? 'presented' : 'authority'
  return {
    serial,
    fingerprint,
    ...(issuer !== undefined && { issuer }),
    not_before: formatTime(notBefore),
    not_after: formatTime(notAfter),
    state: revokedAt === undefined ? dated : revoked,
    ...(revokedAt !== undefined && { revoked_at: formatTime(revokedAt), reason: reason ?? 'unspecified' }),
    source: isLocal ? 'local' : named,
    ...(certificateId !== undefined && { id: certificateId }),
    ...(authority !== undefined && { authority }),
  }
}

function formatTime(at: number): string {
  return new Date(at).toISOString()
}
