import { failure, isName } from '@warder/base'
import Type, { type Static } from 'typebox'
import { RealmId } from '../realms/realm.ts'
import { PlainText } from '../texts.ts'

/** 1 to 256 characters without control characters: it appears in paths and in the audit log. */
export const AdminId = Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,256}$' })

const text = PlainText({ minLength: 1, maxLength: 512 })
const nullable = <T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** `/admins/realms` and `/admins/userpass` are paths of their own beside `/admins/{admin_id}`. */
const reservedIds: ReadonlySet<string> = new Set(['realms', 'userpass'])

/** @throws failure('bad_request') for an id under which an admin could not be read or deleted */
export function checkNewAdminId(id: string): void {
  if (!reservedIds.has(id) && isName(id) && id.normalize('NFC') === id) return
  throw failure(
    'bad_request',
    'Invalid request body: id: must be Unicode NFC without format characters or blanks at its ends, and none of realms, userpass, . and ..',
  )
}

/**
 * Read-only members, accepted in requests and ignored: they show the enrollment of the credential, which has its own
 * endpoints.
 */
const readOnly = Type.Optional(
  Type.Union([Type.Boolean(), Type.String({ maxLength: 4096 }), Type.Null()], {
    description: 'Read-only: ignored.',
  }),
)

/** An admin as callers send it. */
export const AdminInput = Type.Object({
  id: Type.Optional(AdminId),
  realms: Type.Array(RealmId, { maxItems: 10_000 }),
  userpass: nullable(text),
  jwt: nullable(text),
  fido2: nullable(text),
  digital_credentials: nullable(Type.Record(Type.String(), Type.Unknown())),
  client_certificate: nullable(text),
  saml: nullable(text),
  totp_enabled: readOnly,
  totp_secret: readOnly,
  totp_auth_url: readOnly,
})
export type AdminRequest = Static<typeof AdminInput>

export interface Admin {
  readonly id: string
  readonly realms: readonly string[]
  readonly userpass: string | null
  readonly jwt: string | null
  /** Username of a user with passkeys. */
  readonly fido2: string | null
  readonly digital_credentials: Readonly<Record<string, unknown>> | null
  readonly client_certificate: string | null
  /** Subject at the SAML identity provider of a realm. */
  readonly saml: string | null
  readonly version: number
}

const nullableReply = Type.Union([Type.String(), Type.Null()])
export const AdminReply = Type.Object({
  id: Type.String(),
  realms: Type.Array(Type.String()),
  userpass: nullableReply,
  jwt: nullableReply,
  fido2: nullableReply,
  digital_credentials: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  client_certificate: nullableReply,
  saml: nullableReply,
  totp_enabled: Type.Boolean(),
  totp_secret: Type.Null({ description: 'Never returned: the secret is sealed.' }),
  totp_auth_url: Type.Null({ description: 'Never returned: it contains the secret.' }),
})

export function readAdmin(id: string, input: AdminRequest): Omit<Admin, 'version'> {
  return {
    id,
    realms: [...new Set(input.realms)].sort(),
    userpass: input.userpass ?? null,
    jwt: input.jwt ?? null,
    fido2: input.fido2 ?? null,
    digital_credentials: input.digital_credentials ?? null,
    client_certificate: input.client_certificate ?? null,
    saml: input.saml ?? null,
  }
}

export function showAdmin(admin: Omit<Admin, 'version'>, totpEnabled: boolean): Static<typeof AdminReply> {
  return {
    id: admin.id,
    realms: [...admin.realms],
    userpass: admin.userpass,
    jwt: admin.jwt,
    fido2: admin.fido2,
    digital_credentials: admin.digital_credentials === null ? null : { ...admin.digital_credentials },
    client_certificate: admin.client_certificate,
    saml: admin.saml,
    totp_enabled: totpEnabled,
    totp_secret: null,
    totp_auth_url: null,
  }
}
