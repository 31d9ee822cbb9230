import encodeQR from 'qr'

/** Dark on light in every theme, as cameras expect it (ISO/IEC 18004), with the quiet zone of four modules. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const squares = modules.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${modules.length} ${modules.length}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <rect width={modules.length} height={modules.length} fill="#fff" />
      <path d={squares.join('')} fill="#000" />
    </svg>
  )
}
