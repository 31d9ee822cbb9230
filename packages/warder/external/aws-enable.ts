import { StartupError } from '@warder/base'
import type { KmsContext } from '@warder/command-line/kms'
import { formatSettingsToml } from '@warder/runtime/settings'
import { authoritiesSetting, partners, readAuthoritiesFile, writePartnerFiles } from './partner-files.ts'
import { writeFileAtomically } from './settings-file.ts'
import {
  fetchStoreState,
  getPublicUrl,
  grantKey,
  noteAddressProblems,
  setStopped,
  writeSettings,
} from './store.ts'

export interface AwsRequest {
  readonly region: string
  readonly prefix: string
  /** undefined: a new key is created. */
  readonly key: string | undefined
  /** Names in the notation of AWS; empty = all principals at AWS. */
  readonly principals: readonly string[]
  /** PEM file of the authorities of the client certificates of AWS KMS; undefined = signatures suffice. */
  readonly clientCa: string | undefined
  /** Path of the configuration file for the AWS console; undefined = the secret is printed. */
  readonly out: string | undefined
}

/** Creates the key and access key of a new external key store, and shows the values to enter at AWS. */
export async function enableAws(context: KmsContext, request: AwsRequest): Promise<number> {
  const { kms, endpoints: places } = context
  const { region, prefix, key, out, clientCa } = request
  if (clientCa !== undefined && places.isRemote)
    throw new StartupError(
      '--client-ca writes files into the home of the service: run the command on its machine, without --url',
    )
  const authorities = clientCa === undefined ? undefined : readAuthoritiesFile(clientCa)
  const state = await fetchStoreState(context, 'aws')
  if (state.enabled && Array.isArray(state.paths) && !state.paths.includes(`${prefix}/kms/xks/v1`))
    throw new StartupError(
      `the server has only the paths ${state.paths.join(', ')}: add '${prefix}' to aws_xks_config.aws_xks_uri_path_prefixes`,
    )
  const kid =
    key ??
    (await kms.call('crypto.keys.create', { body: { kty: 'oct', alg: 'A256GCM', tags: ['aws-xks'] } })).kid
  const names = request.principals.length === 0 ? ['*'] : request.principals
  // Names without a path refer to the first key store in the settings.
  const isFirst = !Array.isArray(state.paths) || state.paths[0] === `${prefix}/kms/xks/v1`
  const grantees = names.map((name) => (isFirst ? `aws:${name}` : formatGrantee(prefix, name)))
  await grantKey(context, kid, grantees)
  const accessKey = await kms.call('external.aws.keys.create', { body: { region, uri_prefix: prefix } })
  if (authorities !== undefined) await writePartnerFiles(places.home, 'aws', authorities, Date.now())
  const settings = writeAwsSettings(context, request, state.enabled)
  if (state.stopped !== null) await setStopped(context, 'aws', false)
  const uriPath = `${prefix}/kms/xks/v1`
  const file = {
    XksProxyUriPath: uriPath,
    XksProxyAuthenticationCredential: { AccessKeyId: accessKey.id, RawSecretAccessKey: accessKey.secret },
  }
  if (out !== undefined) writeFileAtomically(out, `${JSON.stringify(file, undefined, 2)}\n`)
  const endpoint = getPublicUrl(context, state)
  const secretLine =
    out === undefined
      ? [`  Secret access key       ${accessKey.secret}`, '  It is shown only once.']
      : [
          `  Secret access key       in ${out}, the configuration file for the console: delete it after the upload`,
        ]
  context.show(
    { key: kid, principals: names, region, endpoint, ...(out === undefined ? file : { file: out }) },
    [
      ...settings,
      `Key ${kid} may be used by ${grantees.join(', ')}.`,
      '',
      `In AWS KMS, region ${region}: Custom key stores, External key stores, Create:`,
      `  Proxy URI endpoint      ${endpoint}`,
      `  Proxy URI path prefix   ${uriPath.slice(0, -'/kms/xks/v1'.length)} (the whole path is ${uriPath})`,
      `  Access key ID           ${accessKey.id}`,
      ...secretLine,
      'Connect the key store, then create a key in it:',
      `  External key ID         ${kid}`,
      ...noteAddressProblems(endpoint),
      ...(new URL(endpoint).port === ''
        ? []
        : [
            'AWS KMS accepts only port 443: set kms_public_url to the address that it reaches, without a port.',
          ]),
      '',
      'AWS connects to the public name of the endpoint on port 443, or to a VPC endpoint service, and requires a',
      'certificate of a public authority. `warder external aws test` sends its health request from here.',
    ],
  )
  return 0
}

/** Formats the name of a principal of the key store at a path, for grants. */
export function formatGrantee(prefix: string, name: string): string {
  return `aws:${prefix === '' ? '/' : prefix}:${name}`
}

/** Writes the settings, or returns lines with the settings to write. */
function writeAwsSettings(
  context: KmsContext,
  { region, prefix, clientCa }: AwsRequest,
  isEnabled: boolean,
): readonly string[] {
  const clientSettings = clientCa === undefined ? new Map<string, unknown>() : buildClientSettings(region)
  const lines = writeSettings(context, new Map([...buildSettings(prefix), ...clientSettings]), isEnabled)
  if (clientCa === undefined || !isEnabled) return lines
  const [, ...missing] = formatSettingsToml(clientSettings).trim().split('\n')
  return [
    'For client certificates add this to [aws_xks_config] in kms.toml, and restart the service:',
    ...missing.map((line) => `  ${line}`),
  ]
}

/** Builds the settings that require a client certificate of AWS KMS in this region, or of the test client. */
function buildClientSettings(region: string): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ['aws_xks_config.aws_xks_client_names', [`cks.kms.${region}.amazonaws.com`, partners.aws.testClient]],
    ['aws_xks_config.aws_xks_client_ca_cert_file', authoritiesSetting('aws')],
  ])
}

function buildSettings(prefix: string): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ['aws_xks_config.aws_xks_enable', true],
    ...(prefix === '/aws' ? [] : ([['aws_xks_config.aws_xks_uri_path_prefixes', [prefix]]] as const)),
  ])
}
