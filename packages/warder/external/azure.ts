import { StartupError } from '@warder/base'
import { requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid } from '@warder/command-line/kms'
import { readAzureCertificates } from './azure-client.ts'
import { testAzure } from './health.ts'
import { authoritiesSetting, partnerFiles, partners, writePartnerFiles } from './partner-files.ts'
import {
  disable,
  fetchStoreState,
  formatState,
  getPublicUrl,
  grantKey,
  noteAddressProblems,
  readAction,
  setStopped,
  writeSettings,
} from './store.ts'

const actions = ['enable', 'show', 'test', 'disable'] as const

async function show(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'azure')
  const paths = Array.isArray(state.paths) ? state.paths.map((path) => `  ${state.endpoint}${path}`) : []
  context.show(state, [formatState(state), ...paths])
  return 0
}

export const azureVerb = kmsVerb({
  name: 'azure',
  words: actions.join('|'),
  summary: 'External key management of Azure Managed HSM',
  about: `enable   creates an RSA-3072 key (or uses --key), grants the pool its use, writes the authorities of its certificate
         into the home, enables the interface in the settings, and shows the values to enter at Azure
show     shows whether it is enabled
test     sends the request info of Managed HSM to the running service, as a test client
disable  rejects all requests of Azure on every node from now on; enable accepts them again
The client certificate identifies the pool: az keyvault ekm-connection certificate show --hsm-name HSM > pool.json`,
  examples: [
    'warder external azure enable --certificates pool.json',
    'warder external azure test',
    'warder external azure disable',
  ],
  options: {
    certificates: {
      type: 'text',
      value: 'F',
      help: 'output of `az keyvault ekm-connection certificate show`',
    },
    key: {
      type: 'text',
      value: 'KEY',
      help: 'an AES-256 key, or the private half of an RSA pair of yours (default: a new one)',
    },
    prefix: { type: 'text', value: 'P', help: 'path after /azureekm/ (default none)' },
  },
  parse({ certificates, key, prefix = '' }, names) {
    const action = readAction('azure', names, actions)
    requireNoNames(names.slice(1))
    switch (action) {
      case 'enable': {
        if (certificates === undefined)
          throw new UsageError(
            'give the certificates of the pool: az keyvault ekm-connection certificate show … > pool.json, then --certificates pool.json',
          )
        const request = { certificates, prefix, key: key === undefined ? undefined : readKid(key) }
        return (context) => enableAzure(context, request)
      }
      case 'show':
        return show
      case 'test':
        return (context) => testAzure(context, prefix)
      case 'disable':
        return (context) => disable(context, 'azure')
    }
  },
})

interface AzureRequest {
  /** Output of `az keyvault ekm-connection certificate show`. */
  readonly certificates: string
  readonly prefix: string
  /** undefined: a new RSA key is created. */
  readonly key: string | undefined
}

/** Creates the key and files of an EKM connection, and shows the values to enter at Azure. */
async function enableAzure(context: KmsContext, request: AzureRequest): Promise<number> {
  const { kms, endpoints: places } = context
  if (places.isRemote)
    throw new StartupError(
      'this writes files into the home of the service: run it on its machine, without --url',
    )
  const { name, authorities } = readAzureCertificates(request.certificates)
  const state = await fetchStoreState(context, 'azure')
  const kid =
    request.key ??
    (
      await kms.call('crypto.keys.create', {
        body: { kty: 'RSA', bits: 3072, alg: 'RSA-OAEP-256', tags: ['azure-ekm'] },
      })
    ).kid
  await grantKey(context, kid, [`azure:${name}`])
  const files = partnerFiles(places.home, 'azure')
  await writePartnerFiles(places.home, 'azure', authorities, Date.now())
  const settings = writeSettings(context, buildSettings(name, request.prefix), state.enabled)
  if (state.stopped !== null) await setStopped(context, 'azure', false)
  const endpoint = getPublicUrl(context, state)
  const path = request.prefix === '' ? 'azureekm' : `azureekm/${request.prefix}`
  context.show({ key: kid, pool: name, endpoint, path_prefix: path, authorities: files.authorities }, [
    ...settings,
    ...(state.enabled
      ? [
          `For another pool than before: add ${name} to azure_ekm_config.azure_ekm_client_names and restart the service.`,
          `SIGHUP makes it reload ${files.authorities}.`,
        ]
      : []),
    `Key ${kid} may be used by azure:${name}.`,
    '',
    'In Azure, as Managed HSM EKM Administrator:',
    `  az keyvault ekm-connection create --hsm-name HSM --host ${new URL(endpoint).hostname} \\`,
    `    --server-ca-certificate ROOT.pem --path-prefix /${path}`,
    '  az keyvault ekm-connection check --hsm-name HSM',
    `  az keyvault key create --hsm-name HSM --name NAME --external-key-id ${kid}`,
    'ROOT.pem is the root of the certificate of this service, which must be issued for that host.',
    ...noteAddressProblems(endpoint),
    '',
    `Azure connects to the public name of the host on port 443. \`warder external azure test\` sends the request info`,
    `from here as ${partners.azure.testClient}, with a test certificate that expires in 30 days.`,
  ])
  return 0
}

function buildSettings(name: string, prefix: string): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ['azure_ekm_config.azure_ekm_enable', true],
    ['azure_ekm_config.azure_ekm_ca_cert_file', authoritiesSetting('azure')],
    ['azure_ekm_config.azure_ekm_client_names', [name, partners.azure.testClient]],
    ...(prefix === '' ? [] : ([['azure_ekm_config.azure_ekm_path_prefixes', [prefix]]] as const)),
  ])
}
