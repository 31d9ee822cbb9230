import type { Sample } from '../../../parts/code-block.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import type { Operation } from './algorithms.ts'

/** What a sample does, with which key. */
export interface SampleRequest {
  readonly operation: Operation
  /** Of the key management service: `https://kms.example.com:9998`. */
  readonly origin: string
  readonly kid: string
  readonly alg: string
  readonly enc: string
  /** For attribute-based encryption. */
  readonly policy?: string | undefined
}

const text = 'attack at dawn'
/** Files in which the result of one operation becomes the input of another. */
const files = { encrypt: 'encrypted.json', sign: 'signature.json' }
const quote = (value: string): string => JSON.stringify(value)

/** Members of the request besides the data. */
function listMembers({ operation, kid, alg, enc, policy }: SampleRequest): Readonly<Record<string, string>> {
  if (operation === 'encrypt') return { kid, alg, enc, ...(policy !== undefined && { policy }) }
  if (operation === 'sign' || operation === 'mac') return { kid, alg }
  return operation === 'decrypt' && alg === 'ABE' ? { kid } : {}
}

const formatMembers = (request: SampleRequest, quoteName: (name: string) => string): string =>
  Object.entries(listMembers(request))
    .map(([name, value]) => `${quoteName(name)}: ${quote(value)}`)
    .join(', ')

function formatCurl(request: SampleRequest): string {
  const { operation, origin } = request
  const call = `curl --fail-with-body --silent --show-error --cacert "$CA" -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' ${quoteShell(`${origin}/v1/crypto/${operation}`)}`
  const data = `DATA=$(printf %s ${quoteShell(text)} | basenc --base64url --wrap=0 | tr -d =)`
  const members = listMembers(request)
  if (operation === 'decrypt') {
    const kid = members.kid
    if (kid === undefined) return `${call} \\\n  -d @${files.encrypt}`
    return `jq --arg kid ${quoteShell(kid)} '. + {kid: $kid}' ${files.encrypt} |\n${call} \\\n  -d @-`
  }
  if (operation === 'verify')
    return `${data}\njq --arg data "$DATA" '. + {data: $data}' ${files.sign} |\n${call} \\\n  -d @-`
  // The data comes first, so that no other member can contain its mark.
  const body = quoteShell(JSON.stringify({ data: '@', ...members })).replace('@', `'"$DATA"'`)
  const output = operation === 'mac' ? '' : ` > ${files[operation]}`
  return `${data}\n${call} \\\n  -d ${body}${output}`
}

function formatTypeScript(request: SampleRequest): string {
  const { operation, origin } = request
  const members = formatMembers(request, (name) => name)
  const usesFile = operation === 'decrypt' || operation === 'verify'
  const usesText = operation !== 'decrypt'
  const file = operation === 'decrypt' ? files.encrypt : files.sign
  const body = {
    encrypt: `{ ${members}, data }`,
    sign: `{ ${members}, data }`,
    mac: `{ ${members}, data }`,
    decrypt: members === '' ? 'input' : `{ ...input, ${members} }`,
    verify: '{ ...input, data }',
  }[operation]
  const output = {
    encrypt: `writeFileSync('${files.encrypt}', JSON.stringify(reply))`,
    sign: `writeFileSync('${files.sign}', JSON.stringify(reply))`,
    mac: 'console.log(JSON.stringify(reply))',
    decrypt: 'console.log(new TextDecoder().decode(fromBase64Url(reply.data)))',
    verify: 'console.log(reply.valid)',
  }[operation]
  const writes = operation === 'encrypt' || operation === 'sign'
  return [
    `import { readFileSync${writes ? ', writeFileSync' : ''} } from 'node:fs'`,
    `import { ${usesText ? 'kmsClient, toBase64Url' : 'fromBase64Url, kmsClient'} } from '@warder/client'`,
    '',
    'const kms = kmsClient({',
    `  url: ${quote(origin)},`,
    "  ca: readFileSync(process.env.CA ?? '', 'utf8'),",
    '  credentials: { bearer: process.env.TOKEN },',
    '})',
    ...(usesText ? [`const data = toBase64Url(new TextEncoder().encode(${quote(text)}))`] : []),
    ...(usesFile ? [`const input = JSON.parse(readFileSync('${file}', 'utf8'))`] : []),
    `const reply = await kms.call('crypto.${operation}', { body: ${body} })`,
    output,
    'kms.close()',
  ].join('\n')
}

function formatPython(request: SampleRequest): string {
  const { operation, origin } = request
  const members = formatMembers(request, quote)
  const body = {
    encrypt: `{${members}, "data": data}`,
    sign: `{${members}, "data": data}`,
    mac: `{${members}, "data": data}`,
    decrypt: members === '' ? 'given' : `{**given, ${members}}`,
    verify: '{**given, "data": data}',
  }[operation]
  const usesFile = operation === 'decrypt' || operation === 'verify'
  const file = operation === 'decrypt' ? files.encrypt : files.sign
  const output = {
    encrypt: [`with open("${files.encrypt}", "w") as file:`, '    file.write(reply.text)'],
    sign: [`with open("${files.sign}", "w") as file:`, '    file.write(reply.text)'],
    mac: ['print(reply.text)'],
    decrypt: [
      'data = reply.json()["data"]',
      'print(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)).decode())',
    ],
    verify: ['print(reply.json()["valid"])'],
  }[operation]
  return [
    'import base64',
    ...(usesFile ? ['import json'] : []),
    'import os',
    'import requests',
    '',
    'kms = requests.Session()',
    'kms.verify = os.environ["CA"]',
    'kms.headers["Authorization"] = "Bearer " + os.environ["TOKEN"]',
    ...(usesFile ? [`with open("${file}") as file:`, '    given = json.load(file)'] : []),
    ...(operation === 'decrypt'
      ? []
      : [`data = base64.urlsafe_b64encode(${quote(text)}.encode()).rstrip(b"=").decode()`]),
    `reply = kms.post(${quote(`${origin}/v1/crypto/${operation}`)}, json=${body}, timeout=30)`,
    'reply.raise_for_status()',
    ...output,
  ].join('\n')
}

function formatCommand({ operation, kid, policy }: SampleRequest): string {
  const key = `--key ${quoteShell(kid)}`
  return {
    encrypt: `warder crypto encrypt FILE ${key}${policy === undefined ? '' : ` --policy ${quoteShell(policy)}`}`,
    decrypt: `warder crypto decrypt FILE.warder ${key}`,
    sign: `warder crypto sign FILE ${key}`,
    verify: `warder crypto verify FILE ${key}`,
    mac: `warder crypto mac FILE ${key}`,
  }[operation]
}

/** Programs that do the operation with the key. They read `TOKEN` and `CA` from the environment. */
export function listSamples(request: SampleRequest): readonly Sample[] {
  return [
    { title: 'curl', code: formatCurl(request) },
    { title: 'TypeScript', code: formatTypeScript(request) },
    { title: 'Python', code: formatPython(request) },
    { title: 'Command', code: formatCommand(request) },
  ]
}
