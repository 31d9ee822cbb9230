import { StartupError } from '@warder/base'
import type { KmsContext } from '@warder/command-line/kms'
import { readAzureCertificates } from './azure-client.ts'
import { authoritiesSetting, partnerFiles, partners, writePartnerFiles } from './partner-files.ts'
import {
  fetchStoreState,
  getPublicUrl,
  grantKey,
  noteAddressProblems,
  setStopped,
  writeSettings,
} from './store.ts'

export interface AzureRequest {
  /** Output of `az keyvault ekm-connection certificate show`. */
  readonly certificates: string
  readonly prefix: string
  /** undefined: a new RSA key is created. */
  readonly key: string | undefined
}

/** Creates the key and files of an EKM connection, and shows the values to enter at Azure. */
export async function enableAzure(context: KmsContext, request: AzureRequest): Promise<number> {
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
