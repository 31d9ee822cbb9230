import { requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid } from '@warder/command-line/kms'
import { testMicrosoft } from './health.ts'
import { enableMicrosoft, newMicrosoftKey } from './microsoft-enable.ts'
import { disable, fetchStoreState, formatState, readAction } from './store.ts'

const actions = ['enable', 'show', 'test', 'disable', 'new-key'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'microsoft')
  const urls = Array.isArray(state.key_urls) ? state.key_urls.map((url) => `  ${url}`) : []
  context.show(state, [formatState(state), ...urls])
  return 0
}

function requireName(name: string | undefined): string {
  if (name === undefined || !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new UsageError('give the name of the key in labels: --name finance (letters, digits, - and _)')
  return name
}

export const microsoftVerb = kmsVerb({
  name: 'microsoft',
  words: actions.slice(0, 4).join('|'),
  summary: 'Double Key Encryption of Microsoft 365: documents and mail with labels',
  about: `enable   creates an RSA key (or uses --key), grants users of the tenant decryption with it, enables the interface in the
         settings, and shows the values to enter at Microsoft
show     shows whether it is enabled, and the addresses of its keys
test     requests each public key from the running service, as Office does
disable  rejects all requests of Microsoft 365 on every node from now on; enable accepts them again
new-key  creates the next version of a key, for the same users; data of older versions stays readable`,
  examples: [
    'warder external microsoft enable --tenant 2ec40e65-ba09-4853-bcde-bcb60029e596 --name finance --email ann@contoso.com',
    'warder external microsoft enable --tenant 2ec40e65-ba09-4853-bcde-bcb60029e596 --name finance --role Finance',
    'warder external microsoft test',
    'warder external microsoft disable',
  ],
  options: {
    tenant: { type: 'list', value: 'ID', help: 'id of an Entra tenant; repeatable' },
    name: { type: 'text', value: 'N', help: 'name of the key in labels; the last part of its address' },
    email: { type: 'list', value: 'E', help: 'e-mail address of a user who may decrypt; repeatable' },
    role: {
      type: 'list',
      value: 'R',
      help: 'app role, or id of a group, that may decrypt; repeatable',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'the private half of an RSA pair of yours (default: a new one)',
    },
  },
  parse({ tenant, name, email, role, key }, names) {
    const action = readAction('microsoft', names, actions)
    requireNoNames(names.slice(1))
    switch (action) {
      case 'enable': {
        if (tenant.length === 0) throw new UsageError('give the id of the Entra tenant: --tenant ID')
        if (email.length + role.length === 0)
          throw new UsageError('name the users who may decrypt: --email ann@contoso.com, or --role Finance')
        const kid = key === undefined ? undefined : readKid(key)
        const request = { tenants: tenant, name: requireName(name), emails: email, roles: role, key: kid }
        return (context) => enableMicrosoft(context, request)
      }
      case 'show':
        return show
      case 'test':
        return testMicrosoft
      case 'disable':
        return (context) => disable(context, 'microsoft')
      case 'new-key': {
        const keyName = requireName(name)
        return (context) => newMicrosoftKey(context, keyName)
      }
    }
  },
})
