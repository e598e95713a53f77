"""A drawing is an image, and its description is text."""

from evodiverse.kit.svg import embed_svg


def test_a_drawing_is_an_image_in_which_no_script_runs() -> None:
    image = embed_svg("<svg><script>x</script></svg>", '"<script>')
    assert image.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="&#34;&lt;script&gt;"' in image
    assert "<script" not in image
