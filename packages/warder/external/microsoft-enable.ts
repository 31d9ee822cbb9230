import { StartupError } from '@warder/base'
import { printable } from '@warder/command-line'
import type { KmsContext } from '@warder/command-line/kms'
import { makeSigningKey } from './own-token.ts'
import {
  fetchStoreState,
  getPublicUrl,
  grantKey,
  isSwitchedOn,
  noteAddressProblems,
  requireServing,
  type StoreState,
  setStopped,
  writeSettings,
} from './store.ts'

export interface MicrosoftRequest {
  readonly tenants: readonly string[]
  readonly name: string
  readonly emails: readonly string[]
  readonly roles: readonly string[]
  /** undefined: a new key is created. */
  readonly key: string | undefined
}

const section = 'ms_dke_config.ms_dke_'
export const trialName = 'warder-trial'

/** Creates the keys of Double Key Encryption, and shows the values to enter at Microsoft. */
export async function enableMicrosoft(context: KmsContext, request: MicrosoftRequest): Promise<number> {
  const { show } = context
  const { name, tenants } = request
  const state = await fetchStoreState(context, 'microsoft')
  if (state.enabled) {
    // The settings already name its keys, so new ones would not be used.
    if (state.stopped !== null) await setStopped(context, 'microsoft', false)
    show(state, [
      'microsoft: enabled with the current settings. To change them, edit kms.toml and restart the service.',
    ])
    return 0
  }
  if (isSwitchedOn(context, `${section}enable`))
    throw new StartupError('kms.toml already enables it: restart the service to apply that')
  const kid = request.key ?? (await makeVersion(context, name))
  await tagVersion(context, kid, name)
  const users = [
    ...request.emails.map((email) => `microsoft:${toAsciiLowerCase(email.trim())}`),
    ...request.roles.map((role) => `microsoft:role:${role}`),
  ]
  await grantKey(context, kid, users, ['decrypt'])
  const trial = await makeVersion(context, trialName)
  await tagVersion(context, trial, trialName)
  await grantKey(context, trial, ['microsoft:*'], ['decrypt'])
  const signing = await makeSigningKey(context, 'microsoft:*', 'ms-dke')
  const settings = new Map<string, unknown>([
    [`${section}enable`, true],
    [`${section}keys`, [`${name}=${kid}`, `${trialName}=${trial}`]],
    [`${section}tenants`, tenants],
    [`${section}trial_key`, signing],
  ])
  const written = writeSettings(context, settings, false)
  if (state.stopped !== null) await setStopped(context, 'microsoft', false)
  const url = getPublicUrl(context, state)
  show({ key: kid, name, url: `${url}/ms_dke/${name}`, users }, [
    ...written,
    `Key ${kid} decrypts for ${users.join(', ')}.`,
    '',
    `In the Entra admin center of ${tenants.join(', ')}: App registrations, New registration:`,
    `  Application ID URI      ${new URL(url).origin} (the audience of tokens)`,
    '  Scope                   user_impersonation, for admins and users',
    '  Authorized client       d3590ed6-52b3-4102-aeff-aad2292ab01c (Office), and the same for the other clients',
    'In the Microsoft Purview portal, the sensitivity label: Control access, Use Double Key Encryption:',
    `  Key service URL         ${url}/ms_dke/${name}`,
    ...noteAddressProblems(url),
    '',
    'Office connects to the public name of the URL. `warder external microsoft test` requests the public keys from here.',
  ])
  return 0
}

/** Lower-cases only A to Z, like the service in its comparison of addresses. */
function toAsciiLowerCase(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

async function makeVersion({ kms }: KmsContext, name: string): Promise<string> {
  const body = { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256', tags: [`dke:${name}`] }
  return (await kms.call('crypto.keys.create', { body })).kid
}

async function tagVersion({ kms }: KmsContext, kid: string, name: string): Promise<void> {
  await kms.call('key.tags.add', { path: { kid }, body: { tags: [`dke:${name}`] } })
}

/** Creates the next version of a key, with the grants of the current one. The nodes can be switched to it one by one. */
export async function newMicrosoftKey(context: KmsContext, name: string): Promise<number> {
  const { kms, show } = context
  const state = await fetchStoreState(context, 'microsoft')
  requireServing(state)
  const before = findCurrentKey(state, name)
  const grants = await kms.call('access.list', { path: { object_id: before } })
  const kid = await makeVersion(context, name)
  await tagVersion(context, kid, name)
  await tagVersion(context, before, name)
  const users = grants.filter(
    ({ user_id, operations }) => user_id.startsWith('microsoft:') && operations.includes('decrypt'),
  )
  await grantKey(
    context,
    kid,
    users.map(({ user_id }) => user_id),
    ['decrypt'],
  )
  show({ key: kid, before, name }, [
    `Key ${kid} is ready for the same users: every node can already decrypt with it.`,
    'To publish it, set this in ms_dke_keys of [ms_dke_config] in kms.toml and restart the service:',
    `  "${name}=${kid}"`,
    `Do not destroy ${before}: data that it protected needs it.`,
  ])
  return 0
}

function findCurrentKey(state: StoreState, name: string): string {
  const { keys } = state as { readonly keys?: Readonly<Record<string, string>> }
  const kid = keys !== undefined && Object.hasOwn(keys, name) ? keys[name] : undefined
  if (kid === undefined)
    throw new StartupError(`the server has no key ${printable(name)}: see warder external microsoft show`)
  return kid
}
