import { StartupError } from '@warder/base'
import type { KmsContext } from '@warder/command-line/kms'
import { makeSigningKey } from './own-token.ts'
import {
  fetchStoreState,
  getPublicUrl,
  grantKey,
  isSwitchedOn,
  noteAddressProblems,
  requireServing,
  setStopped,
  writeSettings,
} from './store.ts'

export interface GoogleRequest {
  readonly domain: string
  /** `issuer,key set,audience…` */
  readonly providers: readonly string[]
  readonly administrators: readonly string[]
  readonly peers: readonly string[]
  /** undefined: a new key is created. */
  readonly key: string | undefined
}

const allUsers = 'google:*'
const section = 'google_cse_config.google_cse_'

/** Creates the keys of client-side encryption, and shows the values to enter at Google. */
export async function enableGoogle(context: KmsContext, request: GoogleRequest): Promise<number> {
  const { show } = context
  const state = await fetchStoreState(context, 'google')
  if (state.enabled) {
    // The settings already name its keys, so new ones would not be used.
    if (state.stopped !== null) await setStopped(context, 'google', false)
    show(state, [
      'google: enabled with the current settings. To change them, edit kms.toml and restart the service.',
    ])
    return 0
  }
  if (isSwitchedOn(context, `${section}enable`))
    throw new StartupError('kms.toml already enables it: restart the service to apply that')
  const wrapping = request.key ?? (await makeWrappingKey(context))
  await grantKey(context, wrapping, [allUsers], ['encrypt', 'decrypt'])
  const signing = await makeSigningKey(context, allUsers, 'google-cse')
  const trial = await makeSigningKey(context, allUsers, 'google-cse-trial')
  const settings = writeSettings(context, buildSettings(request, { wrapping, signing, trial }), false)
  if (state.stopped !== null) await setStopped(context, 'google', false)
  const publicUrl = getPublicUrl(context, state)
  const url = `${publicUrl}/google_cse`
  show({ wrapping_key: wrapping, signing_key: signing, kacls_url: url }, [
    ...settings,
    `Key ${wrapping} wraps for ${allUsers}; key ${signing} signs the tokens of this key service.`,
    '',
    'In the Google Admin console: Security, Access and data control, Client-side encryption:',
    `  External key service    name Warder, URL ${url}`,
    '  Identity provider       the one of --idp, with the same client ID as audience',
    'Then assign the key service to organisational units.',
    ...noteAddressProblems(publicUrl),
    '',
    "Browsers of your users and Google's servers connect to the public name of the URL. `warder external google test` sends",
    'the status request from here.',
  ])
  return 0
}

async function makeWrappingKey({ kms }: KmsContext): Promise<string> {
  const body = { kty: 'oct', alg: 'A256GCM', tags: ['google-cse'] }
  return (await kms.call('crypto.keys.create', { body })).kid
}

interface MadeKeys {
  readonly wrapping: string
  readonly signing: string
  readonly trial: string
}

function buildSettings(
  request: GoogleRequest,
  { wrapping, signing, trial }: MadeKeys,
): ReadonlyMap<string, unknown> {
  const lists = {
    identity_providers: request.providers,
    administrators: request.administrators,
    incoming_url_whitelist: request.peers,
  }
  return new Map<string, unknown>([
    [`${section}enable`, true],
    [`${section}key`, wrapping],
    [`${section}signing_key`, signing],
    [`${section}trial_key`, trial],
    [`${section}owner_domain`, request.domain],
    ...Object.entries(lists).flatMap(([name, values]) =>
      values.length === 0 ? [] : [[`${section}${name}`, values] as const],
    ),
  ])
}

/** Creates the next wrapping key. The nodes can be switched to it one by one. */
export async function newGoogleKey(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'google')
  requireServing(state)
  const kid = await makeWrappingKey(context)
  await grantKey(context, kid, [allUsers], ['encrypt', 'decrypt'])
  context.show({ wrapping_key: kid, before: state.wrapping_key }, [
    `Key ${kid} is ready: every node can already unwrap with it.`,
    'To wrap with it, set this in kms.toml and restart the service:',
    '  [google_cse_config]',
    `  google_cse_key = "${kid}"`,
    `Do not destroy ${state.wrapping_key}: data that it wrapped needs it, with its grant to ${allUsers} and the same`,
    'owner.',
  ])
  return 0
}
