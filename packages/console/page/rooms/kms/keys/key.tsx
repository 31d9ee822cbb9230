import { ClientError } from '@warder/client/browser'
import type { ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Act, GuardedAct } from './act.tsx'
import { Code } from './code.tsx'
import { Dates } from './dates.tsx'
import { Destroy } from './destroy.tsx'
import { toKeyPage } from './filter.ts'
import { Grants } from './grants.tsx'
import { Labels } from './labels.tsx'
import { type KeyProps, useRights } from './rights.ts'
import { Rotation } from './rotation.tsx'
import { KeyState } from './state.tsx'
import { Try } from './try.tsx'
import { Uses } from './uses.tsx'
import { Versions } from './versions.tsx'

import './keys.css'

const words = texts.key
const tabs = Object.keys(words.tabs) as (keyof typeof words.tabs)[]

/** One key: what it is, who may use it, and all that can be done with it. */
export function Room({ path: { kid = '' }, query }: RoomProps) {
  const { data, error, refetch } = kms.useOperation('crypto.keys.get', { path: { kid } })
  if (data !== undefined) return <Loaded key={data.kid} of={data} tab={query.get('tab')} />
  if (error instanceof ClientError && error.kind === 'forbidden')
    return <Unreadable kid={kid} error={error} />
  return (
    <>
      <RoomHeader title={words.title}>
        <code>{kid}</code>
      </RoomHeader>
      {error === null ? <Skeleton /> : <Failure error={error} retry={() => void refetch()} />}
      <Link to="/ui/keys">{words.all}</Link>
    </>
  )
}

function Unreadable({ kid, error }: { readonly kid: string; readonly error: ClientError }) {
  return (
    <>
      <RoomHeader title={words.title}>
        <code>{kid}</code>
      </RoomHeader>
      <Failure error={error} />
      <p>
        <strong>{words.noAttributes}</strong>
      </p>
      <p>{words.noAttributesHelp(kid)}</p>
      <Link to="/ui/keys">{words.all}</Link>
    </>
  )
}

function Loaded({ of: key, tab }: { readonly of: KeyProps['of']; readonly tab: string | null }) {
  const may = useRights(key)
  const props = { of: key, may }
  const shown = tabs.find((each) => each === tab) ?? 'overview'
  const panels = {
    overview: () => <Overview {...props} />,
    versions: () => <Versions {...props} />,
    grants: () => <Grants {...props} />,
    uses: () => <Uses {...props} />,
    try: () => <Try {...props} />,
    code: () => <Code {...props} />,
  }
  const select = (id: string): void =>
    navigate(`${toKeyPage(key.kid)}${id === 'overview' ? '' : `?tab=${id}`}`, { replace: true })
  return (
    <>
      <RoomHeader title={formatTitle(key)} actions={<Acts {...props} />}>
        <code>{key.kid}</code> <KeyState of={key} />
      </RoomHeader>
      <Tabs className="tabs" selectedKey={shown} onSelectionChange={(id) => select(String(id))}>
        <TabList aria-label={words.parts} className="tab-list">
          {tabs.map((id) => (
            <Tab key={id} id={id} className="tab">
              {words.tabs[id]}
            </Tab>
          ))}
        </TabList>
        {tabs.map((id) => (
          <TabPanel key={id} id={id} className="tab-panel">
            {panels[id]()}
          </TabPanel>
        ))}
      </Tabs>
    </>
  )
}

/** e.g. `ES256 private key` */
function formatTitle({ alg, crv, kty, bits, object_type: type }: KeyProps['of']): string {
  const what = alg ?? crv ?? (bits === undefined ? kty : `${kty} ${bits}`)
  return words.titles[type] === undefined ? type : `${what} ${words.titles[type]}`
}

function Acts({ of: key, may }: KeyProps) {
  const { kid, state, disabled_at: disabled, destruction_at: waits, abe } = key
  const path = { kid }
  const rotate = kms.useAct('crypto.keys.rotate')
  const disable = kms.useAct('crypto.keys.disable')
  const enable = kms.useAct('crypto.keys.enable')
  const restore = kms.useAct('crypto.keys.restore')
  const act = words.act
  if (state.startsWith('Destroyed')) return null
  if (waits !== undefined)
    return may('activate') ? (
      <Act verb={act.restore} done={act.restored} run={() => restore.mutateAsync({ path })} />
    ) : null
  return (
    <>
      {may('rekey') && abe === undefined && disabled === undefined && state === 'Active' && (
        <Act
          verb={act.rotate}
          done={act.rotated(key.version + 1)}
          run={() => rotate.mutateAsync({ path, body: {} })}
        />
      )}
      {disabled !== undefined && may('activate') && (
        <Act verb={act.enable} done={act.enabled} run={() => enable.mutateAsync({ path })} />
      )}
      {disabled === undefined && may('revoke') && (
        <GuardedAct
          verb={act.disable}
          title={act.disableTitle(kid)}
          done={act.disabled}
          run={() => disable.mutateAsync({ path })}
        >
          <p>{act.disableHelp}</p>
        </GuardedAct>
      )}
      {may('destroy') && <Destroy of={key} may={may} />}
    </>
  )
}

function Overview(props: KeyProps) {
  return (
    <div className="overview">
      <Facts {...props} />
      <Labels {...props} />
      <Dates {...props} />
      <Rotation {...props} />
    </div>
  )
}

function Facts({ of: key }: KeyProps) {
  const { kid, alg, crv, bits, kty, object_type: type, hsm, hardware = false, ext, linked_kid: linked } = key
  const name = alg ?? crv ?? kty
  return (
    <section aria-label={words.tabs.overview}>
      <dl className="facts">
        <Fact name={words.id}>
          <code>{kid}</code>
        </Fact>
        <Fact name={words.kind}>{words.kinds[type] ?? type}</Fact>
        <Fact name={words.algorithm}>
          {alg === undefined ? `${[...new Set([kty, name])].join(' ')}, ${words.notBound}` : name}
          {bits !== undefined && `, ${words.bits(bits)}`}
        </Fact>
        <Fact name={words.uses}>
          {key.key_ops.length === 0 ? words.noOperations : key.key_ops.join(', ')}
        </Fact>
        <StateFact of={key} />
        <Fact name={words.owner}>
          <bdi>{key.owner}</bdi>
        </Fact>
        <Fact name={words.stored}>{hsm === undefined ? words.inDatabase : words.inHsm(hsm, hardware)}</Fact>
        {ext !== undefined && <Fact name={words.export}>{ext ? words.exportable : words.notExportable}</Fact>}
        {linked !== undefined && <KeyLink name={words.linked} kid={linked} />}
        {key.version_of !== undefined && <KeyLink name={words.versionOf} kid={key.version_of} />}
        <Fact name={words.version}>{key.version}</Fact>
        <Fact name={words.created}>
          <Time at={key.created_at} />
        </Fact>
        {key.rotated_at !== undefined && (
          <Fact name={words.rotated}>
            <Time at={key.rotated_at} />
          </Fact>
        )}
        {key.abe?.policy !== undefined && <Fact name={words.policy}>{key.abe.policy}</Fact>}
        {key.abe?.master !== undefined && <KeyLink name={words.masterKey} kid={key.abe.master} />}
      </dl>
      <CodeBlock
        label={words.command}
        samples={[{ title: words.command, code: `warder keys show ${kid}` }]}
      />
      {key.public_jwk !== undefined && (
        <details>
          <summary>{words.publicKey}</summary>
          <CodeBlock
            label={words.publicKey}
            samples={[{ title: words.publicKey, code: JSON.stringify(key.public_jwk, undefined, 2) }]}
          />
        </details>
      )}
    </section>
  )
}

function StateFact({ of: key }: Pick<KeyProps, 'of'>) {
  const { disabled_at: disabled, destruction_at: waits, destruction_by: by } = key
  return (
    <Fact name={words.state}>
      <KeyState of={key} />
      {disabled !== undefined && (
        <div>
          {words.disabledSince} <Time at={disabled} />
        </div>
      )}
      {waits !== undefined && (
        <div>
          {words.destroyedAfter} <Time at={waits} />
          {by !== undefined && <bdi>, {words.requestedBy(by)}</bdi>}
        </div>
      )}
    </Fact>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function KeyLink({ name, kid }: { readonly name: string; readonly kid: string }) {
  return (
    <Fact name={name}>
      <Link to={toKeyPage(kid)}>
        <code>{kid}</code>
      </Link>
    </Fact>
  )
}
