import type { ReactNode } from 'react'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { CopyButton } from '../../../parts/copy.tsx'
import { Link } from '../../../parts/link.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { texts } from '../../../texts.ts'
import { awsSuffix } from './access-keys.tsx'
import type { Store, Vendor } from './state.tsx'

const words = texts.externalStores

/** Client id of Office at Entra, which is the same for all tenants. */
const officeClient = 'd3590ed6-52b3-4102-aeff-aad2292ab01c'

/** A value for a field at the vendor. */
function Value({ title, value, help }: { title: string; value: string; help?: string }) {
  return (
    <div className="fact">
      <dt>{title}</dt>
      <dd>
        <span className="actions">
          <code>
            <bdi>{value}</bdi>
          </code>
          <CopyButton text={value} label={words.copy(title)} />
        </span>
        {help !== undefined && <span className="quiet">{help}</span>}
      </dd>
    </div>
  )
}

function KeyFact({ title, kid }: { readonly title: string; readonly kid: string | undefined }) {
  if (kid === undefined) return null
  return (
    <div className="fact">
      <dt>{title}</dt>
      <dd>
        <Link to={`/ui/keys/${encodeURIComponent(kid)}`}>
          <code>{kid}</code>
        </Link>
      </dd>
    </div>
  )
}

/** What the administrators of the cloud enter there, with the names of its fields. */
export function VendorValues({
  store,
  vendor,
}: {
  readonly store: Store
  readonly vendor: Vendor
}): ReactNode {
  switch (vendor) {
    case 'aws':
      return <AwsValues store={store} />
    case 'azure':
      return <AzureValues store={store} />
    case 'google':
      return <GoogleValues store={store} />
    case 'microsoft':
      return <MicrosoftValues store={store} />
  }
}

function AwsValues({
  store: { endpoint = '', paths = [], client_names: clients },
}: {
  readonly store: Store
}) {
  const [first = ''] = paths
  const command = [
    'aws kms create-custom-key-store --custom-key-store-name warder --custom-key-store-type EXTERNAL_KEY_STORE \\',
    `  --xks-proxy-connectivity PUBLIC_ENDPOINT --xks-proxy-uri-endpoint ${quoteShell(endpoint)} \\`,
    `  --xks-proxy-uri-path ${quoteShell(first)} \\`,
    '  --xks-proxy-authentication-credential AccessKeyId=ID,RawSecretAccessKey=SECRET',
  ].join('\n')
  return (
    <>
      <dl className="facts">
        <Value title={words.aws.endpoint} value={endpoint} />
        {paths.map((path) => (
          <Value
            key={path}
            title={words.aws.prefix}
            value={path.slice(0, -awsSuffix.length)}
            help={words.aws.wholePath(path)}
          />
        ))}
        <div className="fact">
          <dt>{words.aws.credential}</dt>
          <dd>{words.aws.credentialHelp}</dd>
        </div>
        {clients !== undefined && (
          <div className="fact">
            <dt>{words.aws.client}</dt>
            <dd>
              <bdi>{clients.join(', ')}</bdi>
            </dd>
          </div>
        )}
      </dl>
      <CodeBlock label={words.atVendor} samples={[{ title: words.atVendor, code: command }]} />
    </>
  )
}

function AzureValues({
  store: { endpoint = '', paths = [], client_names: pools = [] },
}: {
  readonly store: Store
}) {
  const host = toUrl(endpoint)?.hostname ?? endpoint
  const [first = ''] = paths
  const command = [
    `az keyvault ekm-connection create --hsm-name HSM --host ${quoteShell(host)} \\`,
    `  --server-ca-certificate ROOT.pem --path-prefix ${quoteShell(first)}`,
    'az keyvault ekm-connection check --hsm-name HSM',
    'az keyvault key create --hsm-name HSM --name NAME --external-key-id KEY',
  ].join('\n')
  return (
    <>
      <dl className="facts">
        <Value title={words.azure.host} value={host} />
        {paths.map((path) => (
          <Value key={path} title={words.azure.prefix} value={path} />
        ))}
        <div className="fact">
          <dt>{words.azure.authority}</dt>
          <dd>{words.azure.authorityHelp}</dd>
        </div>
        <div className="fact">
          <dt>{words.azure.pools}</dt>
          <dd>
            <bdi>{pools.join(', ')}</bdi>
          </dd>
        </div>
      </dl>
      <CodeBlock label={words.atVendor} samples={[{ title: words.atVendor, code: command }]} />
    </>
  )
}

function GoogleValues({ store }: { readonly store: Store }) {
  return (
    <dl className="facts">
      <Value title={words.google.name} value={texts.product} />
      <Value title={words.google.url} value={store.kacls_url ?? ''} />
      <div className="fact">
        <dt>{words.google.provider}</dt>
        <dd>{words.google.providerHelp}</dd>
      </div>
      <KeyFact title={words.google.wraps} kid={store.wrapping_key} />
      <KeyFact title={words.google.signs} kid={store.signing_key} />
    </dl>
  )
}

function MicrosoftValues({ store: { service_url, key_urls = [], keys = {} } }: { readonly store: Store }) {
  return (
    <dl className="facts">
      <Value title={words.microsoft.application} value={toUrl(service_url ?? '')?.origin ?? ''} />
      <Value title={words.microsoft.scope} value="user_impersonation" />
      <Value title={words.microsoft.client} value={officeClient} help={words.microsoft.clientHelp} />
      {key_urls.map((url) => (
        <Value key={url} title={words.microsoft.url} value={url} />
      ))}
      {Object.entries(keys).map(([name, kid]) => (
        <KeyFact key={name} title={words.microsoft.key(name)} kid={kid} />
      ))}
    </dl>
  )
}

const toUrl = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)

const isAddress = (host: string): boolean => /^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(host)

/** Why a cloud cannot use the address, in words. */
function listAddressProblems(text: string, vendor: Vendor): readonly string[] {
  const url = toUrl(text)
  if (url === undefined) return []
  const { hostname: host, port } = url
  const isLocal = host === 'localhost' || host === '[::1]' || /^(?:127\.|0\.0\.0\.0$)/.test(host)
  return [
    ...(isLocal ? [words.unreachable(host)] : isAddress(host) ? [words.needsName(host)] : []),
    ...((vendor === 'aws' || vendor === 'azure') && port !== '' ? [words.needsPort(port)] : []),
  ]
}

export function AddressProblems({ url, vendor }: { readonly url: string; readonly vendor: Vendor }) {
  const problems = listAddressProblems(url, vendor)
  if (problems.length === 0) return null
  return (
    <div className="notice">
      {problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
      <p>{words.addressRemedy}</p>
    </div>
  )
}
