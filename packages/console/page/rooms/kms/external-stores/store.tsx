import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CommandCode } from '../../../parts/act-form.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { AccessKeys } from './access-keys.tsx'
import { isVendor, type Store, StoreRefusal, StoreState, storeTitle, type Vendor } from './state.tsx'
import { RecentUses } from './uses.tsx'
import { AddressProblems, VendorValues } from './values.tsx'

const words = texts.externalStores

/** One external key store: its state, what to enter at the vendor, its test, its stop switch and its last requests. */
export function Room({ path: { name = '' } }: RoomProps) {
  const { data, error, refetch } = kms.useOperation('external.list', {})
  const store = data?.find((one) => one.name === name)
  return (
    <>
      <RoomHeader title={storeTitle(name)} />
      {error !== null ? (
        <StoreRefusal error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton />
      ) : store === undefined || !isVendor(name) ? (
        <div className="notice danger" role="alert">
          <p>{words.missing(name)}</p>
          <Link to="/ui/external-stores">{words.toList}</Link>
        </div>
      ) : (
        <Detail store={store} vendor={name} />
      )}
    </>
  )
}

function Detail({ store, vendor }: { readonly store: Store; readonly vendor: Vendor }) {
  return (
    <>
      <p>
        <StoreState store={store} />
      </p>
      {store.enabled ? <Enabled store={store} vendor={vendor} /> : <NotEnabled vendor={vendor} />}
      <StopSwitch store={store} vendor={vendor} />
    </>
  )
}

/** The settings of the service switch it on, which needs a restart. */
function NotEnabled({ vendor }: { readonly vendor: Vendor }) {
  return (
    <div className="part">
      <h2>{words.enable}</h2>
      <p>{words.enableHelp}</p>
      <CommandCode command={words.enableCommands[vendor]} />
    </div>
  )
}

function Enabled({ store, vendor }: { readonly store: Store; readonly vendor: Vendor }) {
  return (
    <>
      <div className="part">
        <h2>{words.enter}</h2>
        <AddressProblems url={store.public_url} vendor={vendor} />
        <p>{words.enterHelp[vendor]}</p>
        <VendorValues store={store} vendor={vendor} />
      </div>
      {vendor === 'aws' && <AccessKeys paths={store.paths ?? []} />}
      <div className="part">
        <h2>{words.keys}</h2>
        <p>{words.keysHelp}</p>
        <CommandCode command={words.grantCommands[vendor]} />
      </div>
      <div className="part">
        <h2>{words.test}</h2>
        <Check vendor={vendor} />
        <p>{words.testHelp[vendor]}</p>
        <CodeBlock
          label={words.test}
          samples={[
            { title: texts.parts.command, code: `warder external ${vendor} test` },
            { title: words.wholeExchange, code: `npm run clouds -- ${vendor}` },
          ]}
        />
      </div>
      <RecentUses vendor={vendor} />
    </>
  )
}

/** What the cloud would stumble over, as far as the service can tell. */
function Check({ vendor }: { readonly vendor: Vendor }) {
  const { mutate, data, error, isPending } = kms.useAct('external.check')
  return (
    <>
      <p>
        <button
          type="button"
          className="button"
          disabled={isPending}
          onClick={() => mutate({ path: { name: vendor } })}
        >
          {words.check}
        </button>
      </p>
      <div role="status">
        {error !== null && <Failure error={error} />}
        {data !== undefined && (
          <ul className="plain-list">
            {data.steps.map(({ what, problem }) => (
              <li key={what}>
                <Status kind={problem === null ? 'good' : 'danger'}>
                  {problem === null ? words.checkPassed : words.checkFailed}
                </Status>{' '}
                <bdi>{what}</bdi>
                {problem !== null && ': '}
                <bdi>{problem}</bdi>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  )
}

function StopSwitch({ store, vendor }: { readonly store: Store; readonly vendor: Vendor }) {
  const stop = kms.useAct('external.stop')
  const start = kms.useAct('external.start')
  const title = storeTitle(vendor)
  const input = { path: { name: vendor } }
  if (store.stopped !== null)
    return (
      <div className="part">
        <h2>{words.start}</h2>
        <p>{words.startHelp}</p>
        <Confirm
          verb={words.start}
          title={words.startTitle(title)}
          onConfirm={async () => {
            await start.mutateAsync(input)
            showToast(words.started)
          }}
        >
          <p>{words.startDoes}</p>
        </Confirm>
      </div>
    )
  return (
    <div className="part">
      <h2>{words.stop}</h2>
      <p>{words.stopHelp}</p>
      <Confirm
        verb={words.stop}
        title={words.stopTitle(title)}
        onConfirm={async () => {
          await stop.mutateAsync(input)
          showToast(words.stopped)
        }}
      >
        <p>{words.stopDoes}</p>
        <p>{words.stopBreaks[vendor]}</p>
        <p>{words.stopKeeps}</p>
        <CommandCode command={`warder external ${vendor} disable`} />
      </Confirm>
    </div>
  )
}
