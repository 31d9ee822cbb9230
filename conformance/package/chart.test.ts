import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { canRun, runProgram } from '../clients/run-program.ts'

const chart = fileURLToPath(new URL('../../deploy/helm/warder', import.meta.url))
const helm = process.env.WARDER_HELM ?? 'helm'
const skip = canRun(helm, ['version'])
  ? false
  : 'helm is not here: install it, or set WARDER_HELM to the program'
const secrets = ['database', 'tls', 'admin'].flatMap((name) => ['--set', `${name}.existingSecret=my-${name}`])
const rootKey = ['--set', 'rootKey.existingSecret=my-root-key']

function render(...words: string[]) {
  const args = ['template', 'w', chart, '--kube-version', '1.31.0', ...words]
  return spawnSync(helm, args, { encoding: 'utf8' })
}

/** The objects of the chart with these values, and the variables of its container. */
function renderObjects(...values: string[]) {
  const { status, stdout, stderr } = render(...secrets, ...values.flatMap((value) => ['--set', value]))
  assert.equal(status, 0, stderr)
  // Kubernetes reads YAML 1.1, where 0440 is octal.
  const objects = parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS())
  const find = (kind: string) => objects.find((each) => each.kind === kind)
  const pod = find('StatefulSet').spec.template.spec
  const [container] = pod.containers
  const env: Record<string, string | undefined> = Object.fromEntries(
    container.env.map((each: { name: string; value?: string }) => [each.name, each.value]),
  )
  const egress: readonly { readonly to?: object; readonly ports: readonly { readonly port: number }[] }[] =
    find('NetworkPolicy').spec.egress
  return { stdout, find, pod, container, env, egress }
}

function assertRefused(...words: string[]): string {
  const { status, stderr } = render(...words)
  assert.notEqual(status, 0)
  return stderr
}

test('the chart makes two nodes that share databases and keys, and nothing in clear', { skip }, () => {
  assert.equal(spawnSync(helm, ['lint', chart, ...secrets, ...rootKey]).status, 0)
  const { status, stdout, stderr } = render(...secrets, ...rootKey)
  assert.equal(status, 0, stderr)
  const objects = parseAllDocuments(stdout).map((document) => document.toJS())
  const of = (kind: string) => objects.find((each) => each.kind === kind) ?? assert.fail(kind)
  const { spec } = of('StatefulSet')
  assert.equal(spec.replicas, 2)
  const pod = spec.template.spec
  assert.deepEqual(
    [
      pod.securityContext.runAsNonRoot,
      pod.securityContext.seccompProfile.type,
      pod.automountServiceAccountToken,
    ],
    [true, 'RuntimeDefault', false],
  )
  const [container] = pod.containers
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) assert.ok(container[probe], probe)
  const given = Object.fromEntries(
    container.env.map((each: { name: string; valueFrom?: { secretKeyRef: { name: string } } }) => [
      each.name,
      each.valueFrom?.secretKeyRef.name,
    ]),
  )
  for (const name of ['AUTH_DATABASE_URL', 'KMS_DATABASE_URL']) assert.equal(given[name], 'my-database')
  assert.deepEqual([given.WARDER_ROOT_KEY, given.WARDER_ADMIN_PASSWORD], ['my-root-key', 'my-admin'])
  const labels = spec.template.metadata.labels
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy', 'Service']) {
    const { selector, podSelector } = of(kind).spec
    for (const [name, value] of Object.entries(selector?.matchLabels ?? podSelector?.matchLabels ?? selector))
      assert.equal(labels[name], value, `${kind} ${name}`)
  }
})

test('the root key comes from a file, too; what is missing or unknown is refused', { skip }, () => {
  const file = render(...secrets, '--set', 'rootKey.file=/keys/root.key')
  assert.match(file.stdout, /KMS_ROOT_KEY_FILE, value: "\/keys\/root.key"/)
  assert.match(file.stdout, /KMS_ROOT_KEY_SOURCE, value: file/)
  assert.doesNotMatch(file.stdout, /WARDER_ROOT_KEY/)
  assert.match(assertRefused(...secrets), /all nodes share one root key/)
  assert.match(assertRefused(...secrets, ...rootKey, '--set', 'rootKey.file=/x'), /not both/)
  assert.match(assertRefused(...rootKey), /name the Secret/)
  assert.match(assertRefused(...secrets, ...rootKey, '--set', 'replicaCount=3'), /replicaCount/)
})

/** Values of a source, the variables that they become without the name of the service, and the ports that are opened. */
const sources: readonly {
  readonly source: string
  readonly values: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly ports: readonly number[]
  readonly missing?: string
}[] = [
  {
    source: 'transit',
    values: ['transit.url=https://vault.example:8200', 'transit.key=warder', 'transit.role_id=r'],
    env: { TRANSIT_URL: 'https://vault.example:8200', TRANSIT_KEY: 'warder', TRANSIT_ROLE_ID: 'r' },
    ports: [8200],
    missing: 'transit.url',
  },
  {
    source: 'kmip',
    values: ['kmip.server=kmip.example:5696', 'kmip.key_id=1', 'kmip.key_file=/etc/warder/root-key/kmip.key'],
    env: {
      KMIP_SERVER: 'kmip.example:5696',
      KMIP_KEY_ID: '1',
      KMIP_KEY_FILE: '/etc/warder/root-key/kmip.key',
    },
    ports: [5696],
    missing: 'kmip.server',
  },
  {
    source: 'pkcs11',
    values: ['pkcs11.library=/hsm/lib.so', 'pkcs11.tokens={pkcs11:token=a,pkcs11:token=b}', 'pkcs11.slot=2'],
    env: { PKCS11_LIBRARY: '/hsm/lib.so', PKCS11_TOKENS: 'pkcs11:token=a,pkcs11:token=b', PKCS11_SLOT: '2' },
    ports: [],
    missing: 'pkcs11.library',
  },
  {
    source: 'aws-kms',
    values: ['aws.key=alias/warder', 'aws.region=eu-central-1'],
    env: { AWS_KEY: 'alias/warder', AWS_REGION: 'eu-central-1' },
    ports: [443, 80],
    missing: 'aws.key',
  },
  {
    source: 'google-kms',
    values: [
      'google.key=projects/p/locations/l/keyRings/r/cryptoKeys/k',
      'google.credentials=metadata-server',
    ],
    env: {
      GOOGLE_KEY: 'projects/p/locations/l/keyRings/r/cryptoKeys/k',
      GOOGLE_CREDENTIALS: 'metadata-server',
    },
    ports: [443, 80, 988],
    missing: 'google.key',
  },
  {
    source: 'azure-key-vault',
    values: ['azure.key=https://v.vault.azure.net/keys/warder'],
    env: { AZURE_KEY: 'https://v.vault.azure.net/keys/warder' },
    ports: [443],
    missing: 'azure.key',
  },
  {
    source: 'shares',
    values: ['shares.time_limit_seconds=1000000'],
    env: { SHARES_TIME_LIMIT_SECONDS: '1000000' },
    ports: [],
  },
]

for (const { source, values, env: expected, ports, missing } of sources)
  test(`the root key comes from ${source}: both services have its settings, and reach its server`, {
    skip,
  }, () => {
    const named = `rootKey.source=${source}`
    const { env, egress } = renderObjects(named, ...values.map((value) => `rootKey.${value}`))
    for (const service of ['AUTH', 'KMS']) {
      assert.equal(env[`${service}_ROOT_KEY_SOURCE`], source)
      for (const [name, value] of Object.entries(expected))
        assert.equal(env[`${service}_ROOT_KEY_${name}`], value)
    }
    const before = renderObjects('rootKey.existingSecret=my-root-key').egress.length
    const opened = egress.slice(before).flatMap((rule) => rule.ports.map(({ port }) => port))
    assert.deepEqual(opened, ports)
    const refused = (...words: string[]) =>
      assertRefused(...secrets, '--set', named, ...words.flatMap((word) => ['--set', word]))
    const table = values[0]?.split('.')[0]
    assert.match(refused(`rootKey.${table}.unknown=1`), /unknown/)
    if (missing !== undefined)
      assert.match(refused(), new RegExp(`rootKey\\.source ${source} requires rootKey\\.${missing}`))
  })

test('a source that cannot be in a container, or is unknown, is refused by name', { skip }, () => {
  const refused = (source: string) => assertRefused(...secrets, '--set', `rootKey.source=${source}`)
  assert.match(
    refused('systemd'),
    /rootKey\.source systemd: the credentials of systemd reach units of a host/,
  )
  assert.match(refused('tpm'), /rootKey\.source must be one of aws-kms, azure-key-vault, .*, not tpm/)
  assert.match(refused('environment'), /requires rootKey\.existingSecret/)
  assert.match(refused('passphrase'), /requires rootKey\.passphrase\.existingSecret/)
  const { stdout } = renderObjects('rootKey.source=passphrase', 'rootKey.passphrase.existingSecret=mine')
  assert.match(
    stdout,
    /WARDER_ROOT_KEY_PASSPHRASE\n +valueFrom: \{ secretKeyRef: \{ name: "mine", key: "passphrase"/,
  )
})

test('a move has the settings of both sources', { skip }, () => {
  const transit = ['rootKey.transit.url=https://vault.example', 'rootKey.transit.key=warder']
  const during = renderObjects('rootKey.existingSecret=my-root-key', ...transit)
  assert.equal(during.env.KMS_ROOT_KEY_SOURCE, 'environment')
  assert.equal(during.env.KMS_ROOT_KEY_TRANSIT_KEY, 'warder')
  assert.match(during.stdout, /WARDER_ROOT_KEY\n +valueFrom: .*my-root-key/)
  const both = ['rootKey.existingSecret=a', 'rootKey.file=/b', 'rootKey.source=environment']
  assert.equal(renderObjects(...both).env.AUTH_ROOT_KEY_FILE, '/b')
})

test('files of a Secret are in a folder that only the service reads', { skip }, () => {
  const { pod, container } = renderObjects('rootKey.source=shares', 'rootKey.filesSecret=credentials')
  const mount = container.volumeMounts.find((one: { name: string }) => one.name === 'root-key')
  assert.deepEqual(mount, { name: 'root-key', mountPath: '/etc/warder/root-key', readOnly: true })
  const volume = pod.volumes.find((one: { name: string }) => one.name === 'root-key')
  // Secrets are files of root, which the service reads by its group: no mode beyond 0640.
  assert.deepEqual(volume.secret, { secretName: 'credentials', defaultMode: 0o440 })
})

test('a sealed pod is not ready, has a name, and is not restarted', { skip }, () => {
  const { container, stdout } = renderObjects('rootKey.source=shares')
  for (const probe of ['startupProbe', 'livenessProbe'])
    assert.deepEqual(container[probe].tcpSocket, { port: 'kms' }, probe)
  assert.deepEqual(container.readinessProbe.exec.command, ['/opt/warder/bin/warder', 'health'])
  assert.doesNotMatch(stdout, /httpGet/)
  assert.match(stdout, /name: w-warder-nodes[\s\S]*?publishNotReadyAddresses: true/)
})

test('pods have the default account, one that is named, or one of the chart with its annotations', {
  skip,
}, () => {
  const role = 'eks\\.amazonaws\\.com/role-arn'
  const annotation = `serviceAccount.annotations.${role}=arn:aws:iam::111122223333:role/warder`
  const plain = renderObjects('rootKey.existingSecret=k')
  assert.equal(plain.pod.serviceAccountName, 'default')
  assert.equal(plain.find('ServiceAccount'), undefined)
  const named = renderObjects('rootKey.existingSecret=k', 'serviceAccount.name=mine')
  assert.deepEqual([named.pod.serviceAccountName, named.find('ServiceAccount')], ['mine', undefined])
  const made = renderObjects('rootKey.existingSecret=k', 'serviceAccount.create=true', annotation)
  assert.equal(made.pod.serviceAccountName, 'w-warder')
  assert.deepEqual(made.find('ServiceAccount').metadata.annotations, {
    'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/warder',
  })
  assert.equal(made.find('ServiceAccount').automountServiceAccountToken, false)
  assert.match(
    assertRefused(...secrets, ...rootKey, '--set', annotation),
    /serviceAccount\.annotations are for an account that the chart creates/,
  )
  const label = 'podLabels.azure\\.workload\\.identity/use=true'
  const labelled = render(...secrets, ...rootKey, '--set-string', label)
  const [set] = parseAllDocuments(labelled.stdout)
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'StatefulSet')
  assert.equal(set.spec.template.metadata.labels['azure.workload.identity/use'], 'true')
  assert.equal(set.spec.selector.matchLabels['azure.workload.identity/use'], undefined)
})

const types = fileURLToPath(new URL('kubernetes-types', import.meta.url))
const withoutGo = canRun('go', ['build', '-C', types, '-o', '/dev/null', '.'])
  ? false
  : 'Go or its modules are not here'

test('the objects of the chart are those of the official types of Kubernetes', {
  skip: skip || withoutGo,
}, async () => {
  const check = (text: string) => runProgram('go', ['run', '-C', types, '.'], { input: Buffer.from(text) })
  const { stdout } = render(
    ...secrets,
    ...rootKey,
    '--set',
    'networkPolicy.from[0].podSelector.matchLabels.a=b',
    ...[
      'rootKey.google.credentials=metadata-server',
      'rootKey.aws.key=k',
      'serviceAccount.create=true',
    ].flatMap((value) => ['--set', value]),
    ...['--set', 'rootKey.filesSecret=f', '--set', 'rootKey.transit.url=https://vault.example:8200'],
  )
  const found = await check(stdout)
  assert.equal(found.code, 0, found.err)
  const kinds = found.out.toString().trim().split('\n').toSorted()
  assert.deepEqual(kinds, [
    ...['NetworkPolicy', 'PodDisruptionBudget', 'Service', 'Service', 'ServiceAccount', 'StatefulSet'],
  ])
  const wrong = await check(stdout.replace('readOnlyRootFilesystem', 'readOnlyRootFileSystem'))
  assert.match(wrong.err, /unknown field/)
})
