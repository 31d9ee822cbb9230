import { requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid } from '@warder/command-line/kms'
import { enableGoogle, newGoogleKey } from './google-enable.ts'
import { testGoogle } from './health.ts'
import { disable, fetchStoreState, formatState, readAction } from './store.ts'

const actions = ['enable', 'show', 'test', 'disable', 'new-key'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'google')
  const facts = state.enabled
    ? [
        `  key service URL   ${state.kacls_url}`,
        `  wraps with        ${state.wrapping_key}`,
        `  signs with        ${state.signing_key}`,
      ]
    : []
  context.show(state, [formatState(state), ...facts])
  return 0
}

export const googleVerb = kmsVerb({
  name: 'google',
  words: actions.slice(0, 4).join('|'),
  summary: 'Client-side encryption of Google Workspace: Drive, Docs, Meet, Calendar, Gmail',
  about: `enable   creates the wrapping key (or uses --key) and the token signing key, grants them to Google's users, enables the
         interface in the settings, and shows the values to enter in the Admin console
show     shows whether it is enabled, its address and its keys
test     sends the status request of Google's clients to the running service
disable  rejects all requests of Google on every node from now on; enable accepts them again
new-key  creates the next wrapping key; data of older keys stays readable`,
  examples: [
    "warder external google enable --domain example.com --idp 'https://idp.example,https://idp.example/jwks,CLIENT'",
    'warder external google test',
    'warder external google disable',
  ],
  options: {
    domain: { type: 'text', value: 'D', help: 'your Google Workspace domain' },
    idp: {
      type: 'list',
      value: 'I',
      help: 'identity provider of the users: issuer,key set,audience…; repeatable',
    },
    admin: {
      type: 'list',
      value: 'EMAIL',
      help: 'administrator who may export, import, and wrap private keys; repeatable',
    },
    peer: {
      type: 'list',
      value: 'URL',
      help: 'another key service for migrations in both directions; repeatable',
    },
    key: { type: 'text', value: 'KEY', help: 'an AES-256 key of yours (default: a new one)' },
  },
  parse({ domain, idp, admin, peer, key }, names) {
    const action = readAction('google', names, actions)
    requireNoNames(names.slice(1))
    switch (action) {
      case 'enable': {
        if (domain === undefined)
          throw new UsageError('give the Google Workspace domain: --domain example.com')
        if (idp.length === 0)
          throw new UsageError(
            "give the identity provider of the users: --idp 'issuer,key set (https),audience'",
          )
        const kid = key === undefined ? undefined : readKid(key)
        const request = { domain, providers: idp, administrators: admin, peers: peer, key: kid }
        return (context) => enableGoogle(context, request)
      }
      case 'show':
        return show
      case 'test':
        return testGoogle
      case 'disable':
        return (context) => disable(context, 'google')
      case 'new-key':
        return newGoogleKey
    }
  },
})
