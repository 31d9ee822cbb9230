import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { CopyButton } from './copy.tsx'

export interface Sample {
  /** e.g. curl, TypeScript, Python, Command */
  readonly title: string
  readonly code: string
}

function Code({ code }: { readonly code: string }) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached with the keyboard */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
      <CopyButton text={code} />
    </div>
  )
}

/** Code that does the same as the page, in one or several languages. */
export function CodeBlock({
  label,
  samples,
}: {
  readonly label: string
  readonly samples: readonly Sample[]
}) {
  const [only] = samples
  if (only !== undefined && samples.length === 1) return <Code code={only.code} />
  return (
    <Tabs className="tabs">
      <TabList aria-label={label} className="tab-list">
        {samples.map(({ title }) => (
          <Tab key={title} id={title} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {samples.map(({ title, code }) => (
        <TabPanel key={title} id={title}>
          <Code code={code} />
        </TabPanel>
      ))}
    </Tabs>
  )
}
